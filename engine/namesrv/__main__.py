import sys

from engine.namesrv.main import main

sys.exit(main())
