/** Public keys and payment hashes are lower-case hex. An outpoint is `txid:vout`, a short channel id `block x tx x output`. */

export type HoldInvoiceRequest = {
  readonly paymentHash: string
  readonly amountMsat: bigint
  readonly cltvDelta: number
  readonly expirySeconds: number
  /** At most 639 bytes (BOLT 11). */
  readonly description: string
}

/** One part of a payment that waits at an invoice. */
export type Htlc = {
  readonly amountMsat: bigint
  /** The block height at which the payer may take the HTLC back. */
  readonly expiryHeight: number
  /** The peer on whose channel the HTLC arrived; null if the node no longer knows the channel. */
  readonly peer: string | null
  readonly state: 'held' | 'settled' | 'cancelled'
  /** Time at which the node accepted the HTLC, in milliseconds since 1970; null if the node does not report it. */
  readonly acceptedAt: number | null
}

export type Invoice = {
  readonly paymentHash: string
  /** BOLT 11. */
  readonly request: string
  readonly amountMsat: bigint
  /** 'held': the whole amount has arrived and waits for settle or cancel. 'settled': the node shows every HTLC settled. */
  readonly state: 'open' | 'held' | 'settled' | 'cancelled'
  /** All parts, including cancelled parts, because a node waits only a limited time for the other parts of a payment. */
  readonly htlcs: readonly Htlc[]
}

/** A repeated call returns an outcome instead of an error. An adapter maps the errors of its node to these outcomes. */
export type SettleOutcome = 'settled' | 'already-settled' | 'not-held' | 'cancelled' | 'unknown'
export type CancelOutcome = 'cancelled' | 'already-cancelled' | 'settled' | 'unknown'

export interface HoldInvoices {
  /** Creates an invoice. For a hash that the node has already, it returns the existing invoice. */
  create(request: HoldInvoiceRequest): Promise<Invoice>
  find(paymentHash: string): Promise<Invoice | undefined>
  settle(preimage: string): Promise<SettleOutcome>
  cancel(paymentHash: string): Promise<CancelOutcome>
  /** Every invoice that is held now. The guard checks them all on each block. */
  held(): Promise<readonly Invoice[]>
  /**
   * Yields the invoice of this hash after each change, the present state first. It may repeat a state, and may be silent after a
   * fault, so a caller that needs certainty also reads `find`.
   */
  changes(paymentHash: string, signal: AbortSignal): AsyncIterable<Invoice>
}

export type PaymentState =
  | { readonly state: 'in-flight' }
  | { readonly state: 'succeeded'; readonly preimage: string; readonly feeMsat: bigint }
  | { readonly state: 'failed'; readonly reason: PaymentFailure }
export type PaymentFailure =
  | 'no-route'
  | 'insufficient-balance'
  | 'rejected-by-destination'
  | 'invoice-expired'
  /** The node refused the call and did not begin to pay. Its log has the reason. */
  | 'refused'
  | 'timeout'
  | 'fee-limit'

export interface Payments {
  /**
   * Pays an invoice that has an amount. A hash is paid at most once: a second call joins a payment in flight, returns a success,
   * and retries only a failed payment. A payment that is undecided at the timeout (a hold invoice) is returned as 'in-flight' and
   * continues. A node that cannot distinguish 'fee-limit' returns 'no-route'.
   *
   * No payment is sent after `notAfter`, an instant of this process's monotonic clock that is checked directly before the send. A
   * payment that is in flight or has succeeded by then is still returned.
   * @throws Fault if `notAfter` has passed
   */
  pay(
    request: string,
    options: { readonly maxFeeMsat: bigint; readonly timeoutMs: number; readonly notAfter?: number },
  ): Promise<PaymentState>
  find(paymentHash: string): Promise<PaymentState | undefined>
  /** Creates an ordinary invoice of this node. */
  createInvoice(request: {
    readonly amountMsat: bigint
    readonly expirySeconds: number
    readonly description: string
  }): Promise<Invoice>
  findInvoice(paymentHash: string): Promise<Invoice | undefined>
}

export interface Messages {
  /** lnd's signmessage: zbase32 of a recoverable signature over "Lightning Signed Message:" + text. */
  sign(text: string): Promise<string>
  /** @returns the signer's key; undefined for a malformed signature. A changed text gives another key, so compare the key. */
  recover(text: string, signature: string): Promise<string | undefined>
}

/** `reached`: the last node failed the HTLC, so the channel leads to that node. Any other outcome proves nothing yet. */
export type ProbeOutcome =
  | { readonly reached: true }
  | { readonly reached: false; readonly failedAt: 'route' | 'seller'; readonly reason: string }

/** The socket is not public, so this node must not connect to it. The message is the reason, as a part of a sentence. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'
}

export interface Peers {
  /**
   * Connects to the peer unless it is connected already.
   * @returns false if no node, or a node with another key, is at that address
   * @throws AddressRefused if the address is not public, on networks of public nodes
   */
  connect(pubkey: string, socket: string): Promise<boolean>
  isConnected(pubkey: string): Promise<boolean>
  /** Alias and sockets (`host:port`) that the node has announced; empty if gossip has none. */
  addresses(pubkey: string): Promise<{ readonly alias: string; readonly sockets: readonly string[] }>
}

/** A channel as the node's graph has it: both ends signed the announcement, and the node checked its output. */
export type GraphChannel = {
  readonly outpoint: string
  readonly shortChannelId: string
  readonly capacitySat: bigint
  readonly nodes: readonly [string, string]
  readonly policies: readonly {
    readonly node: string
    readonly baseFeeMsat: bigint
    readonly feeRatePpm: number
    readonly disabled: boolean
  }[]
}

export interface Graph {
  channel(outpoint: string): Promise<GraphChannel | undefined>
  between(a: string, b: string): Promise<readonly GraphChannel[]>
  /**
   * Sends an HTLC with a random hash through `via` and then this channel to `destination`. A failure that only the last node
   * can produce proves that the channel leads to that node. `failedAt` is the place in the route: 'route' before `via`,
   * 'seller' at `via`.
   *
   * The last node may hold the HTLC until its expiry. The probe resolves only after the release, so the caller limits the
   * wait. A held probe proves nothing yet and occupies an HTLC slot of both channels, so send one probe at a time.
   */
  probe(probe: {
    readonly via: string
    readonly shortChannelId: string
    readonly destination: string
    readonly amountMsat: bigint
  }): Promise<ProbeOutcome>
}

export type OpenRequest = {
  readonly peer: string
  readonly capacitySat: bigint
  readonly isPrivate: boolean
  readonly feeRateSatPerVbyte: number
  readonly baseFeeMsat?: bigint
  readonly feeRatePpm?: number
}

/** `pending`: funded and not yet usable. `active` needs the required depth and both ends online. */
export type OwnChannel = {
  readonly outpoint: string
  readonly shortChannelId: string | null
  readonly peer: string
  readonly capacitySat: bigint
  readonly localSat: bigint
  readonly remoteSat: bigint
  readonly isPrivate: boolean
  /** The negotiated commitment type, as the node names it. */
  readonly channelType: string
  /** The channel reserve of each side. */
  readonly reserveSat: bigint
  readonly state: 'pending' | 'active' | 'inactive' | 'closing'
  readonly openedByUs: boolean
  /** Whether `prepare` opened the channel. Only the node's owner may abandon channels that were opened in another way. */
  readonly isPrepared: boolean
}

/** The record of a closed channel. Some fields are null if only the stream of changes could report them. */
export type ClosedChannel = {
  readonly outpoint: string
  readonly shortChannelId: string | null
  readonly peer: string
  /**
   * 'breach': one side published an old state, and the other side punished it. 'funding-lost': the funding never appeared.
   * 'abandoned': this node abandoned the channel, and as far as the node knows, the chain has no trace of it.
   */
  readonly how: 'cooperative' | 'force' | 'breach' | 'funding-lost' | 'abandoned'
  /** The side that began the close; null if the node does not know it, or reports it only after all coins are swept. */
  readonly by: 'us' | 'peer' | null
  readonly closingTxid: string | null
  /** Height of the block with the closing transaction; null if there is none, or the node does not report it yet. */
  readonly height: number | null
}

/** The present state of a channel. `shortChannelId` is null at least until the channel can be used. */
export type ChannelChange =
  | (Pick<OwnChannel, 'outpoint' | 'shortChannelId' | 'peer'> & { readonly state: OwnChannel['state'] })
  | (ClosedChannel & { readonly state: 'closed' })

/**
 * A negotiated channel whose funding transaction is not published yet. `handle` is the signed transaction for `publish`. A
 * caller that lost the handle in a crash finds the outpoint in `list` as pending and can only abandon it.
 */
export type UnpublishedFunding = { readonly outpoint: string; readonly handle: string }

export interface Channels {
  list(): Promise<readonly OwnChannel[]>
  /** All former channels of this node, each from the block of its closing transaction on. */
  closed(): Promise<readonly ClosedChannel[]>
  /**
   * Yields the state of every channel, including closed channels, then each change. It may skip or repeat states and may be
   * silent after a fault, so a caller that needs certainty also reads `list` and `closed`. A close may be repeated with more
   * detail.
   */
  changes(signal: AbortSignal): AsyncIterable<ChannelChange>
  /** Negotiates and signs the channel, and does not publish its funding (PSBT with no publish). @throws OpenRefused */
  prepare(request: OpenRequest): Promise<UnpublishedFunding>
  /**
   * Publishes the funding. A repeated call is harmless, and publishes a transaction again that the wallet has forgotten.
   * @throws Fault for a funding of another node, or for an abandoned funding
   */
  publish(funding: UnpublishedFunding): Promise<void>
  /**
   * Abandons a funding that was never published, and frees its coins. A repeated call is harmless.
   * Never call it after a call of `publish`, even if that call failed. Other nodes may keep a transaction that the wallet
   * forgot, and a funding that confirms without its channel is lost.
   * @returns 'published' if the node knows that it is too late; no state has changed then
   */
  abandon(funding: Pick<UnpublishedFunding, 'outpoint'>): Promise<'abandoned' | 'published'>
  /**
   * Raises the fee of an unconfirmed funding by a spend of its change (CPFP). For a confirmed funding it does nothing. A
   * node that raises the fee further by itself pays at most `maxRateSatPerVbyte` for both transactions.
   * @throws OpenRefused if the funding has no change
   */
  bumpFee(outpoint: string, feeRateSatPerVbyte: number, maxRateSatPerVbyte: number): Promise<void>
  /**
   * Closes a channel, cooperatively if the peer agrees, else by force. The call is idempotent, also for a closed channel.
   * @throws Fault if the channel cannot be closed now, because its funding is unconfirmed or payments are in flight
   */
  close(outpoint: string): Promise<void>
}

/** A node did not open a channel. A reason `peer-*` comes from the other side. */
export class OpenRefused extends Error {
  override readonly name = 'OpenRefused'
  readonly reason: 'insufficient-funds' | 'peer-offline' | 'peer-refused' | 'node-failed'
  constructor(reason: OpenRefused['reason'], message: string) {
    super(message)
    this.reason = reason
  }
}

export interface Wallet {
  /** Sum of the confirmed coins that no opening has reserved. */
  confirmedSat(): Promise<bigint>
  /** Sum of the amounts that peers can send to this node. */
  inboundSat(): Promise<bigint>
  /** Sum of this node's side of its channels. */
  localSat(): Promise<bigint>
}

export type NodeInfo = {
  readonly pubkey: string
  readonly alias: string
  readonly version: string
  readonly network: 'mainnet' | 'testnet' | 'signet' | 'regtest'
  readonly uris: readonly string[]
  /** Whether the node believes that it has all blocks. */
  readonly synced: boolean
  /** Whether the node has synchronised its graph with a peer since its start. Before, the graph may lack existing channels. */
  readonly graphSynced: boolean
  readonly height: number
  /** Blocks before an HTLC's expiry at which the node itself cancels a held invoice; null if the number is unknown. */
  readonly holdExpiryDelta: number | null
}

/**
 * A Lightning node with the functions of lnd. Every call throws `Fault` if the node does not answer. The outcome of an
 * interrupted call is unknown, and the matching lookup shows it.
 */
export interface Lightning {
  info(): Promise<NodeInfo>
  readonly holds: HoldInvoices
  readonly payments: Payments
  readonly messages: Messages
  readonly peers: Peers
  readonly graph: Graph
  readonly channels: Channels
  readonly wallet: Wallet
}
