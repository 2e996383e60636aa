/** Signing in and being signed out. */
export const en = {
  title: "Sign in to Signalbox",
  lead: "Clusters, topics, groups and messages of RocketMQ-compatible brokers.",
  username: "User name",
  password: "Password",
  submit: "Sign in",
  firstTime: "The first time: `make up` has printed the password of admin, once.",
  wrong: "Name and password do not fit together, or the account is not active.",
  out: {
    title: "You are signed out",
    detail: "The session is over, or somebody ended it. This page stays as it is: sign in again and go on.",
    other: "Sign in as somebody else",
  },
} as const;
