/**
 * What the simulated network offers to whoever plays the rest of the world. Shapes are those that the command line
 * prints; amounts are decimal strings of sat. A network that is not simulated has none of this.
 */
export type Simulation = {
  nodes(): readonly object[]
  pay(fromAlias: string, invoice: string): { readonly state: string; readonly payment_hash: string }
  payment(hash: string): { readonly state: string; readonly payee: string } | undefined
  channels(alias: string): readonly object[]
  mine(count: number): number
  reorg(depth: number): number
  behave(alias: string, how: string): void
  sign(alias: string, text: string): { readonly signature: string }
  invoice(alias: string, sats: bigint, expirySeconds: number): { readonly invoice: string; readonly payment_hash: string }
  invoiceStatus(alias: string, hash: string): { readonly state: string } | undefined
  /** What every node has on chain and in its channels, what hangs in HTLCs, and what miners have: together always the same. */
  balances(): {
    readonly nodes: readonly { readonly alias: string; readonly onChainMsat: bigint; readonly channelMsat: bigint }[]
    readonly inFlightMsat: bigint
    readonly feesMsat: bigint
    readonly totalMsat: bigint
  }
  open(alias: string, peerPubkey: string, sats: bigint, isPrivate: boolean): { readonly outpoint: string }
}
