"""Random task graphs and the experiments of HVLB_CC on them."""
