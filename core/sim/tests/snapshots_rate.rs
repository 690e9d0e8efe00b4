//! Named scenarios in whole packets for BBR, Vivace and Linux's schemes that answer loss: a change of behaviour shows here and
//! is reviewed.

mod support;

use support::alone;

#[test]
fn bbr_alone() {
    insta::assert_snapshot!(alone("bbr"), @r"
    cwnd 148 148 148 148 148 146 146 146 146 146 148 148 148 148 148 148 148 148 148 148
    bbr: sent 32954 delivered 32763 lost 150 retransmitted 150 timeouts 0
    link: offered 32954 delivered 32763 dropped 150 lost 0 queued 8 in flight 33
    ");
}

#[test]
fn bbr3_alone() {
    insta::assert_snapshot!(alone("bbr3"), @r"
    cwnd 134 134 134 116 116 135 116 116 116 116 116 116 116 116 116 116 115 115 115 116
    bbr3: sent 32928 delivered 32704 lost 188 retransmitted 188 timeouts 0
    link: offered 32928 delivered 32704 dropped 188 lost 0 queued 3 in flight 33
    ");
}

#[test]
fn bic_alone() {
    insta::assert_snapshot!(alone("bic"), @r"
    cwnd 122 127 132 134 119 129 119 124 132 119 124 116 122 135 118 124 136 120 126 116
    bic: sent 33609 delivered 33165 lost 363 retransmitted 363 timeouts 0
    link: offered 33609 delivered 33165 dropped 363 lost 0 queued 48 in flight 33
    ");
}

#[test]
fn highspeed_alone() {
    insta::assert_snapshot!(alone("highspeed"), @r"
    cwnd 87 104 120 83 101 116 135 97 113 131 93 110 127 89 106 122 85 103 118 81
    highspeed: sent 33364 delivered 33165 lost 152 retransmitted 152 timeouts 0
    link: offered 33364 delivered 33165 dropped 152 lost 0 queued 14 in flight 33
    ");
}

#[test]
fn htcp_alone() {
    insta::assert_snapshot!(alone("htcp"), @r"
    cwnd 70 82 134 77 106 73 85 136 78 107 74 86 138 78 109 74 87 129 78 110
    htcp: sent 33406 delivered 33151 lost 179 retransmitted 179 timeouts 0
    link: offered 33406 delivered 33151 dropped 179 lost 0 queued 42 in flight 34
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
    illinois: sent 33405 delivered 33150 lost 183 retransmitted 183 timeouts 0
    link: offered 33405 delivered 33150 dropped 183 lost 0 queued 39 in flight 33
    ");
}

#[test]
fn satcp_alone() {
    insta::assert_snapshot!(alone("satcp"), @r"
    cwnd 110 118 131 102 110 115 123 130 100 118 129 133 109 124 131 97 117 128 133 107
    satcp: sent 33250 delivered 33165 lost 12 retransmitted 12 timeouts 0
    link: offered 33250 delivered 33165 dropped 12 lost 0 queued 40 in flight 33
    ");
}

#[test]
fn scalable_alone() {
    insta::assert_snapshot!(alone("scalable"), @r"
    cwnd 132 121 120 120 119 122 130 134 134 133 132 132 131 130 130 129 128 128 127 126
    scalable: sent 33689 delivered 33165 lost 432 retransmitted 432 timeouts 0
    link: offered 33689 delivered 33165 dropped 432 lost 0 queued 59 in flight 33
    ");
}

#[test]
fn vivace_alone() {
    insta::assert_snapshot!(alone("vivace"), @r"
    cwnd 97 187 83 125 137 97 234 93 239 108 274 109 145 129 135 125 121 128 133 139
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
    cwnd 44 68 89 106 121 134 86 103 118 132 82 100 116 129 78 97 113 127 74 94
    westwood: sent 32714 delivered 32510 lost 144 retransmitted 144 timeouts 0
    link: offered 32714 delivered 32510 dropped 144 lost 0 queued 27 in flight 33
    ");
}
