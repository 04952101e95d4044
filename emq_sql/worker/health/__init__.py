"""What a worker tells those who ask after it: is it alive, does it claim, and what does it do."""
