//! Named scenarios in whole packets for BBR, Vivace and Linux's schemes that answer loss: a change of behaviour shows here and
//! is reviewed.

mod support;

use support::alone;

#[test]
fn bbr_alone() {
    insta::assert_snapshot!(alone("bbr"), @r"
    cwnd 148 148 148 146 146 146 146 146 146 146 146 146 146 146 146 146 146 146 146 146
    bbr: sent 32952 delivered 32762 lost 150 retransmitted 150 timeouts 0
    link: offered 32952 delivered 32762 dropped 150 lost 0 queued 7 in flight 33
    ");
}

#[test]
fn bbr3_alone() {
    insta::assert_snapshot!(alone("bbr3"), @r"
    cwnd 135 135 135 115 115 136 116 116 116 116 116 116 116 116 116 116 116 116 116 116
    bbr3: sent 33151 delivered 32922 lost 195 retransmitted 195 timeouts 0
    link: offered 33151 delivered 32922 dropped 195 lost 0 queued 1 in flight 33
    ");
}

#[test]
fn bic_alone() {
    insta::assert_snapshot!(alone("bic"), @r"
    cwnd 123 128 133 133 117 123 118 123 139 118 123 110 121 126 117 123 115 119 124 109
    bic: sent 33605 delivered 33057 lost 365 retransmitted 365 timeouts 0
    link: offered 33605 delivered 33165 dropped 365 lost 0 queued 42 in flight 33
    ");
}

#[test]
fn highspeed_alone() {
    insta::assert_snapshot!(alone("highspeed"), @r"
    cwnd 89 106 122 85 103 118 81 99 115 133 95 111 129 92 108 125 87 105 120 83
    highspeed: sent 33360 delivered 33165 lost 147 retransmitted 147 timeouts 0
    link: offered 33360 delivered 33165 dropped 147 lost 0 queued 15 in flight 33
    ");
}

#[test]
fn htcp_alone() {
    insta::assert_snapshot!(alone("htcp"), @r"
    cwnd 68 79 127 76 100 72 82 129 77 102 73 83 130 77 103 73 83 132 77 104
    htcp: sent 33403 delivered 33156 lost 177 retransmitted 177 timeouts 0
    link: offered 33403 delivered 33156 dropped 177 lost 0 queued 37 in flight 33
    ");
}

#[test]
fn hybla_alone() {
    insta::assert_snapshot!(alone("hybla"), @r"
    cwnd 67 87 103 116 129 78 97 110 123 67 87 103 116 130 78 97 110 123 67 87
    hybla: sent 33358 delivered 33171 lost 133 retransmitted 133 timeouts 0
    link: offered 33358 delivered 33171 dropped 133 lost 0 queued 21 in flight 33
    ");
}

#[test]
fn illinois_alone() {
    insta::assert_snapshot!(alone("illinois"), @r"
    cwnd 94 104 112 118 123 128 132 90 102 110 117 122 127 131 76 100 108 115 121 125
    illinois: sent 33422 delivered 33154 lost 177 retransmitted 177 timeouts 0
    link: offered 33422 delivered 33154 dropped 177 lost 0 queued 57 in flight 34
    ");
}

#[test]
fn satcp_alone() {
    insta::assert_snapshot!(alone("satcp"), @r"
    cwnd 116 118 131 102 110 115 123 130 99 118 128 133 109 124 131 97 116 128 133 107
    satcp: sent 33250 delivered 33165 lost 12 retransmitted 12 timeouts 0
    link: offered 33250 delivered 33165 dropped 12 lost 0 queued 40 in flight 33
    ");
}

#[test]
fn scalable_alone() {
    insta::assert_snapshot!(alone("scalable"), @r"
    cwnd 133 120 119 119 126 135 134 133 133 132 131 131 130 129 129 128 127 127 126 125
    scalable: sent 33681 delivered 33165 lost 426 retransmitted 426 timeouts 0
    link: offered 33681 delivered 33165 dropped 426 lost 0 queued 57 in flight 33
    ");
}

#[test]
fn vivace_alone() {
    insta::assert_snapshot!(alone("vivace"), @r"
    cwnd 97 186 83 125 138 102 234 93 239 108 273 109 145 129 135 125 121 128 133 139
    vivace: sent 29385 delivered 29319 lost 30 retransmitted 30 timeouts 0
    link: offered 29385 delivered 29319 dropped 30 lost 0 queued 3 in flight 33
    ");
}

#[test]
fn vivace_kernel_alone() {
    insta::assert_snapshot!(alone("vivace-kernel"), @r"
    cwnd 120 127 147 136 164 123 144 129 127 146 141 165 130 139 153 178 147 135 122 124
    vivace-kernel: sent 31512 delivered 31480 lost 0 retransmitted 0 timeouts 0
    link: offered 31512 delivered 31480 dropped 0 lost 0 queued 2 in flight 30
    ");
}

#[test]
fn vivace_proteus_alone() {
    insta::assert_snapshot!(alone("vivace-proteus"), @r"
    cwnd 94 124 139 130 128 137 119 132 144 132 126 130 124 119 124 130 119 126 121 142
    vivace-proteus: sent 30835 delivered 30802 lost 0 retransmitted 0 timeouts 0
    link: offered 30835 delivered 30802 dropped 0 lost 0 queued 1 in flight 32
    ");
}

#[test]
fn westwood_alone() {
    insta::assert_snapshot!(alone("westwood"), @r"
    cwnd 40 64 86 103 118 132 82 100 116 129 80 99 114 128 78 97 113 127 76 95
    westwood: sent 32474 delivered 32274 lost 139 retransmitted 139 timeouts 0
    link: offered 32474 delivered 32274 dropped 139 lost 0 queued 27 in flight 34
    ");
}
