//! Snapshots of BBR, Vivace and Linux's loss-based schemes, in whole packets.

use crate::support::alone;

#[test]
fn bbr_prague_and_vivace_alone() {
    insta::assert_snapshot!(alone(["bbr", "bbr3", "prague", "vivace", "vivace-kernel", "vivace-proteus"]), @r"
    cwnd 148 148 148 148 146 146 146 146 146 146 148 148 148 148 148 148 150 150 150 150
    bbr: sent 32958 delivered 32763 lost 152 retransmitted 152 timeouts 0
    link: offered 32958 delivered 32763 dropped 152 lost 0 queued 9 in flight 34

    cwnd 114 114 114 115 115 115 115 115 117 117 117 115 115 115 115 115 115 135 115 34
    bbr3: sent 32552 delivered 32393 lost 126 retransmitted 126 timeouts 0
    link: offered 32552 delivered 32393 dropped 126 lost 0 queued 0 in flight 33

    cwnd 76 95 112 126 69 90 107 122 135 85 102 118 131 79 98 113 127 72 92 109
    prague: sent 33135 delivered 32915 lost 146 retransmitted 146 timeouts 0
    link: offered 33135 delivered 32915 dropped 146 lost 0 queued 41 in flight 33

    cwnd 97 187 83 125 137 97 234 93 239 108 274 109 145 129 135 125 121 128 132 126
    vivace: sent 29386 delivered 29320 lost 30 retransmitted 30 timeouts 0
    link: offered 29386 delivered 29320 dropped 30 lost 0 queued 3 in flight 33

    cwnd 120 127 147 137 164 123 144 129 127 147 142 165 130 139 153 178 148 129 122 124
    vivace-kernel: sent 31508 delivered 31476 lost 0 retransmitted 0 timeouts 0
    link: offered 31508 delivered 31476 dropped 0 lost 0 queued 1 in flight 31

    cwnd 79 120 138 129 121 135 141 125 130 120 120 137 133 119 130 122 136 135 136 138
    vivace-proteus: sent 30503 delivered 30471 lost 0 retransmitted 0 timeouts 0
    link: offered 30503 delivered 30471 dropped 0 lost 0 queued 1 in flight 31
    ");
}

#[test]
fn loss_based_schemes_alone() {
    let loss_based =
        alone(["bic", "highspeed", "htcp", "hybla", "illinois", "satcp", "scalable", "westwood"]);
    insta::assert_snapshot!(loss_based, @r"
    cwnd 116 122 127 115 121 136 118 124 114 117 123 130 120 125 135 119 124 114 122 127
    bic: sent 33606 delivered 33165 lost 348 retransmitted 348 timeouts 0
    link: offered 33606 delivered 33165 dropped 348 lost 0 queued 60 in flight 33

    cwnd 92 108 125 88 106 123 86 104 120 84 102 117 81 100 117 96 98 114 133 96
    highspeed: sent 33373 delivered 33165 lost 147 retransmitted 147 timeouts 0
    link: offered 33373 delivered 33165 dropped 147 lost 0 queued 28 in flight 33

    cwnd 74 93 138 87 115 84 100 76 93 122 86 103 78 95 127 88 107 80 97 133
    htcp: sent 33428 delivered 33159 lost 171 retransmitted 171 timeouts 0
    link: offered 33428 delivered 33159 dropped 171 lost 0 queued 65 in flight 33

    cwnd 97 111 124 68 90 106 119 132 82 100 113 127 73 94 108 121 130 86 103 116
    hybla: sent 33565 delivered 33171 lost 312 retransmitted 312 timeouts 0
    link: offered 33565 delivered 33171 dropped 312 lost 0 queued 49 in flight 33

    cwnd 95 105 112 118 124 128 132 91 103 111 117 122 127 131 85 100 108 115 121 126
    illinois: sent 33426 delivered 33155 lost 179 retransmitted 179 timeouts 0
    link: offered 33426 delivered 33155 dropped 179 lost 0 queued 58 in flight 34

    cwnd 111 118 132 103 110 115 122 129 99 117 129 133 110 125 132 100 118 129 133 111
    satcp: sent 33254 delivered 33165 lost 12 retransmitted 12 timeouts 0
    link: offered 33254 delivered 33165 dropped 12 lost 0 queued 44 in flight 33

    cwnd 133 129 133 132 130 128 126 124 122 120 119 132 133 131 129 128 126 124 122 120
    scalable: sent 33671 delivered 33165 lost 420 retransmitted 420 timeouts 0
    link: offered 33671 delivered 33165 dropped 420 lost 0 queued 53 in flight 33

    cwnd 30 54 77 97 113 126 77 96 112 126 78 97 113 127 77 97 112 126 78 97
    westwood: sent 32034 delivered 31830 lost 142 retransmitted 142 timeouts 0
    link: offered 32034 delivered 31830 dropped 142 lost 0 queued 29 in flight 33
    ");
}
