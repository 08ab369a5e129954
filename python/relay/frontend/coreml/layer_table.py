LAYERS: dict = {}
