/** The network is in this process, or in another. */
type Answer<T> = T | Promise<T>

/**
 * What the simulated network offers to whoever plays the rest of the world. Shapes are those that the command line
 * prints; amounts are decimal strings of sat. A network that is not simulated has none of this.
 */
export type Simulation = {
  nodes(): Answer<readonly { readonly alias: string; readonly role: string }[]>
  pay(fromAlias: string, invoice: string): Answer<{ readonly state: string; readonly payment_hash: string }>
  payment(hash: string): Answer<{ readonly state: string; readonly payee: string } | undefined>
  channels(alias: string): Answer<readonly object[]>
  mine(count: number): Answer<number>
  reorg(depth: number): Answer<number>
  behave(alias: string, how: string): Answer<void>
  sign(alias: string, text: string): Answer<{ readonly signature: string }>
  invoice(alias: string, sats: bigint, expirySeconds: number): Answer<{ readonly invoice: string; readonly payment_hash: string }>
  invoiceStatus(alias: string, hash: string): Answer<{ readonly state: string } | undefined>
  /** What every node has on chain and in its channels, what hangs in HTLCs, and what miners have: together always the same. */
  balances(): Answer<{
    readonly nodes: readonly { readonly alias: string; readonly onChainMsat: bigint; readonly channelMsat: bigint }[]
    readonly inFlightMsat: bigint
    readonly feesMsat: bigint
    readonly totalMsat: bigint
  }>
  /** A taproot channel has to be private. */
  open(
    alias: string,
    peerPubkey: string,
    sats: bigint,
    options: { readonly isPrivate: boolean; readonly isTaproot: boolean },
  ): Answer<{ readonly outpoint: string }>
  close(outpoint: string): Answer<{ readonly txid: string }>
}
