//! Named scenarios in whole packets for BBR, Vivace and Linux's schemes that answer loss: a change of behaviour shows here and
//! is reviewed.

use crate::support::alone;

#[test]
fn bbr_alone() {
    insta::assert_snapshot!(alone("bbr"), @r"
    cwnd 148 148 148 146 146 146 146 146 146 146 148 148 148 148 148 148 148 150 150 150
    bbr: sent 32958 delivered 32763 lost 150 retransmitted 150 timeouts 0
    link: offered 32958 delivered 32763 dropped 150 lost 0 queued 12 in flight 33
    ");
}

#[test]
fn bbr3_alone() {
    insta::assert_snapshot!(alone("bbr3"), @r"
    cwnd 114 114 114 115 115 136 116 116 115 115 115 115 115 115 115 115 116 116 116 116
    bbr3: sent 32901 delivered 32723 lost 144 retransmitted 144 timeouts 0
    link: offered 32901 delivered 32723 dropped 144 lost 0 queued 1 in flight 33
    ");
}

#[test]
fn bic_alone() {
    insta::assert_snapshot!(alone("bic"), @r"
    cwnd 117 123 128 114 120 142 119 124 116 118 123 136 121 126 108 120 125 117 122 130
    bic: sent 33610 delivered 33165 lost 350 retransmitted 350 timeouts 0
    link: offered 33610 delivered 33165 dropped 350 lost 0 queued 62 in flight 33
    ");
}

#[test]
fn highspeed_alone() {
    insta::assert_snapshot!(alone("highspeed"), @r"
    cwnd 86 104 119 82 100 116 134 97 113 130 93 109 126 89 106 122 85 102 118 81
    highspeed: sent 33362 delivered 33165 lost 151 retransmitted 151 timeouts 0
    link: offered 33362 delivered 33165 dropped 151 lost 0 queued 13 in flight 33
    ");
}

#[test]
fn htcp_alone() {
    insta::assert_snapshot!(alone("htcp"), @r"
    cwnd 74 93 138 87 114 84 100 75 93 121 85 103 77 95 127 87 106 80 96 132
    htcp: sent 33428 delivered 33157 lost 173 retransmitted 173 timeouts 0
    link: offered 33428 delivered 33157 dropped 173 lost 0 queued 64 in flight 34
    ");
}

#[test]
fn hybla_alone() {
    insta::assert_snapshot!(alone("hybla"), @r"
    cwnd 95 108 121 134 85 102 115 128 75 95 108 121 134 85 102 115 128 75 95 108
    hybla: sent 33560 delivered 33172 lost 315 retransmitted 315 timeouts 0
    link: offered 33560 delivered 33172 dropped 315 lost 0 queued 40 in flight 33
    ");
}

#[test]
fn illinois_alone() {
    insta::assert_snapshot!(alone("illinois"), @r"
    cwnd 120 125 129 133 96 106 113 119 124 129 133 95 106 113 119 124 128 132 94 105
    illinois: sent 33403 delivered 33150 lost 183 retransmitted 183 timeouts 0
    link: offered 33403 delivered 33150 dropped 183 lost 0 queued 37 in flight 33
    ");
}

#[test]
fn satcp_alone() {
    insta::assert_snapshot!(alone("satcp"), @r"
    cwnd 110 118 132 103 110 115 122 129 99 117 129 133 109 124 132 100 118 129 133 111
    satcp: sent 33254 delivered 33165 lost 12 retransmitted 12 timeouts 0
    link: offered 33254 delivered 33165 dropped 12 lost 0 queued 44 in flight 33
    ");
}

#[test]
fn scalable_alone() {
    insta::assert_snapshot!(alone("scalable"), @r"
    cwnd 132 119 134 133 131 129 127 125 123 121 119 119 134 132 131 129 127 125 123 121
    scalable: sent 33678 delivered 33165 lost 426 retransmitted 426 timeouts 0
    link: offered 33678 delivered 33165 dropped 426 lost 0 queued 54 in flight 33
    ");
}

#[test]
fn vivace_alone() {
    insta::assert_snapshot!(alone("vivace"), @r"
    cwnd 97 187 83 125 137 97 234 93 239 108 274 109 145 129 135 125 121 128 132 126
    vivace: sent 29386 delivered 29320 lost 30 retransmitted 30 timeouts 0
    link: offered 29386 delivered 29320 dropped 30 lost 0 queued 3 in flight 33
    ");
}

#[test]
fn vivace_kernel_alone() {
    insta::assert_snapshot!(alone("vivace-kernel"), @r"
    cwnd 123 129 138 132 158 138 161 144 139 138 113 150 132 135 132 158 138 161 144 133
    vivace-kernel: sent 31494 delivered 31460 lost 0 retransmitted 0 timeouts 0
    link: offered 31494 delivered 31460 dropped 0 lost 0 queued 2 in flight 32
    ");
}

#[test]
fn vivace_proteus_alone() {
    insta::assert_snapshot!(alone("vivace-proteus"), @r"
    cwnd 79 120 138 129 121 135 141 125 130 120 120 137 133 119 130 122 136 135 136 138
    vivace-proteus: sent 30503 delivered 30471 lost 0 retransmitted 0 timeouts 0
    link: offered 30503 delivered 30471 dropped 0 lost 0 queued 1 in flight 31
    ");
}

#[test]
fn westwood_alone() {
    insta::assert_snapshot!(alone("westwood"), @r"
    cwnd 30 54 77 96 112 126 78 97 113 127 72 92 109 123 67 87 105 119 133 82
    westwood: sent 32082 delivered 31890 lost 144 retransmitted 144 timeouts 0
    link: offered 32082 delivered 31890 dropped 144 lost 0 queued 14 in flight 34
    ");
}
