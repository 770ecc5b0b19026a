"""Who runs when: online policies for the engine (``online``) and static schedules."""
