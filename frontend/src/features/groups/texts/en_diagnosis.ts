/** Words of the diagnosis. */
export const diagnosis = {
  lead: "Ten checks, asked of brokers and members now, each with what it looked at.",
  run: "Run again",
  withStacks: "With thread stacks",
  withStacksHint: "Takes a stack of every member: costs them a moment and is audited.",
  asked: "Asked {{time}}",
  download: "Download as JSON",
  worst: {
    ok: "Nothing is wrong",
    unknown: "Nothing wrong was found; some things could not be learnt",
    warning: "Something needs attention",
    critical: "Something is wrong",
  },
  state: { ok: "fine", unknown: "not known", warning: "look at it", critical: "act" },
  evidence: "What it looked at",
  check: {
    enabled: "Consumption is allowed",
    members: "Members are online",
    subscriptions: "Members subscribe alike",
    spare_members: "Every member has a queue",
    stuck_queues: "Every queue moves",
    growing_lag: "Lag does not grow",
    slow_consumers: "Listeners are quick and succeed",
    blocked_threads: "Listener threads are free",
    retries: "No retries, no dead letters",
    offsets_in_range: "Offsets are within their queues",
  },
  said: {
    enabled: {
      not_said: "No broker said whether the group may consume.",
      allowed: "The group may consume.",
      off: "Consumption is switched off.",
    },
    members: {
      not_said: "No broker said who is online.",
      online: "Members online: {{count}}.",
      nobody: "No member is online.",
      nobody_and_lag: "No member is online, and messages wait.",
    },
    subscriptions: {
      not_said: "No broker said who is online.",
      nobody: "No member is online, so none differs.",
      differ: "Members of this group subscribe differently to {{topic}}.",
      silent: "Members that did not say what they subscribe to: {{count}}.",
      alike: "All members subscribe alike.",
    },
    spare_members: {
      not_said: "No broker said who is online.",
      nobody: "No member is online.",
      broadcasting: "Every member gets every queue.",
      pop: "Members that pop share queues.",
      spare: "{{members}} members share {{queues}} queues: some have none.",
      enough: "There are no more members than queues.",
    },
    stuck_queues: {
      not_said: "No broker said who is online.",
      held: "Queues that do not move: {{count}}. {{queue}} is held by {{member}}.",
      free: "Queues that do not move: {{count}}. {{queue}} is held by nobody.",
      moving: "Every queue with waiting messages is being consumed.",
      no_lag: "No messages wait.",
    },
    growing_lag: {
      too_few: "There are too few points of history to say.",
      growing: "Lag grew by {{grown}} in {{minutes}} minutes and never shrank.",
      steady: "Lag does not grow steadily.",
    },
    slow_consumers: {
      nobody: "No member is online, so none is slow.",
      not_said: "Not every member said how long its listener takes.",
      failing: "{{member}} fails more often than it succeeds on {{topic}}.",
      slow: "{{member}} takes {{ms}} ms per message of {{topic}}.",
      quick: "No listener takes a second per message.",
    },
    blocked_threads: {
      not_taken: "No thread stack was taken.",
      blocked: "Listener threads of {{member}} that stand in {{call}}: {{count}}.",
      free: "No two listener threads stand at the same call.",
    },
    retries: {
      not_said: "No broker said how many retries and dead letters there are.",
      dead: "Dead letters that are kept: {{count}}.",
      retrying: "Messages that wait to be tried again: {{count}}.",
      none: "Nothing waits to be tried again, and there are no dead letters.",
    },
    offsets_in_range: {
      outside: "Committed offsets outside of what their queues hold: {{count}}.",
      inside: "All committed offsets are within their queues.",
    },
  },
  advice: {
    enabled: { off: "Switch it on in the group's configuration." },
    members: {
      nobody: "Start the consumers, or look into their logs for why they left; rebalances say when.",
      nobody_and_lag: "Start the consumers, or look into their logs for why they left; rebalances say when.",
    },
    subscriptions: {
      differ:
        "All members of a group must have the same subscriptions, or messages are lost between them: deploy one version everywhere, or give them groups of their own.",
    },
    spare_members: { spare: "Give the topic more queues, or run fewer members." },
    stuck_queues: {
      held: "Look at the thread stack of the member that holds it; restart that member, or add one.",
      free: "Start a member: nobody takes what is on these queues.",
    },
    growing_lag: {
      growing:
        "Consumers are slower than producers: add members (up to the number of queues) or speed them up.",
    },
    slow_consumers: {
      failing: "Read the member's log: its listener throws.",
      slow: "Look at its thread stack for what it waits for.",
    },
    blocked_threads: {
      blocked: "What they wait for there (a lock, a database, a remote call) holds up consumption.",
    },
    retries: {
      dead: "Look at the dead letters, mend what made them fail, redrive them.",
      retrying: "Listeners fail: read the members' logs before these become dead letters.",
    },
    offsets_in_range: {
      outside:
        "Beyond the end: nothing is delivered until the queue gets there; reset to the end. Before the beginning: messages were deleted unread; retention is too short for this lag.",
    },
  },
} as const;
