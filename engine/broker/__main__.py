import sys

from engine.broker.main import main

sys.exit(main())
