/** The network runs in this process or in another, so that a result may be a promise. */
type MaybePromise<T> = T | Promise<T>

/**
 * Controls the simulated network, for a caller that acts for its nodes and miners. The command line prints the returned objects
 * with amounts as decimal strings of sat. A real network has no such control.
 */
export type SimulatedNetworkControl = {
  nodes(): MaybePromise<readonly { readonly alias: string; readonly role: string }[]>
  pay(fromAlias: string, invoice: string): MaybePromise<{ readonly state: string; readonly payment_hash: string }>
  payment(hash: string): MaybePromise<{ readonly state: string; readonly payee: string } | undefined>
  channels(alias: string): MaybePromise<readonly object[]>
  mine(count: number): MaybePromise<number>
  reorg(depth: number): MaybePromise<number>
  behave(alias: string, how: string): MaybePromise<void>
  sign(alias: string, text: string): MaybePromise<{ readonly signature: string }>
  invoice(
    alias: string,
    sats: bigint,
    expirySeconds: number,
  ): MaybePromise<{ readonly invoice: string; readonly payment_hash: string }>
  invoiceStatus(alias: string, hash: string): MaybePromise<{ readonly state: string } | undefined>
  /** Balances of all nodes on chain and in channels, pending HTLCs, and fees of miners. Their total never changes. */
  balances(): MaybePromise<{
    readonly nodes: readonly { readonly alias: string; readonly onChainMsat: bigint; readonly channelMsat: bigint }[]
    readonly inFlightMsat: bigint
    readonly feesMsat: bigint
    readonly totalMsat: bigint
  }>
  /** A taproot channel must be private. */
  open(
    alias: string,
    peerPubkey: string,
    sats: bigint,
    options: { readonly isPrivate: boolean; readonly isTaproot: boolean },
  ): MaybePromise<{ readonly outpoint: string }>
  close(outpoint: string): MaybePromise<{ readonly txid: string }>
}
