/** The role of a process at lnd. Its macaroon permits exactly the calls of the role. */
export type MacaroonRole = 'settlement' | 'channel-watcher' | 'reader' | 'seller-agent'
