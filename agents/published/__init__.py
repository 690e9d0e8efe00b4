"""Import checkpoints that schemes' authors published as policies of this project."""
