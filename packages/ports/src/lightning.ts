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
  /** The block height at which the payer may take it back. */
  readonly expiryHeight: number
  /** The peer whose channel it came through; null where the node no longer says whose channel that was. */
  readonly peer: string | null
  readonly state: 'held' | 'settled' | 'cancelled'
  /** When the node took it, in milliseconds since 1970; null where it does not tell. */
  readonly acceptedAt: number | null
}

export type Invoice = {
  readonly paymentHash: string
  /** BOLT 11. */
  readonly request: string
  readonly amountMsat: bigint
  /** 'held': the whole amount has arrived and waits for settle or cancel. 'settled': the node shows every HTLC settled. */
  readonly state: 'open' | 'held' | 'settled' | 'cancelled'
  /** Those that were given back, too: a node waits for the other parts of a payment for a while only. */
  readonly htlcs: readonly Htlc[]
}

/** Second calls are answered, not failed: an adapter maps its node's errors to these. */
export type SettleOutcome = 'settled' | 'already-settled' | 'not-held' | 'cancelled' | 'unknown'
export type CancelOutcome = 'cancelled' | 'already-cancelled' | 'settled' | 'unknown'

export interface HoldInvoices {
  /** A second call with a hash that the node has answers with the invoice that is there. */
  create(request: HoldInvoiceRequest): Promise<Invoice>
  find(paymentHash: string): Promise<Invoice | undefined>
  settle(preimage: string): Promise<SettleOutcome>
  cancel(paymentHash: string): Promise<CancelOutcome>
  /** Every invoice that is held now: what the guard goes through on each block. */
  held(): Promise<readonly Invoice[]>
  /**
   * Tells that invoices of these hashes changed, the present state first; repeats are possible, and so is silence after
   * a fault, so whoever needs certainty reads `find` beside it.
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
  /** The node refused the call, and has not begun: why is in its log. */
  | 'refused'
  | 'timeout'
  | 'fee-limit'

export interface Payments {
  /**
   * Pays an invoice that names an amount. One hash is paid at most once: a second call continues what is in flight and
   * answers with what succeeded; only what failed is tried again. What is not decided within the time-out (a hold
   * invoice) is answered as 'in-flight' and goes on. A node that can't tell 'fee-limit' answers 'no-route'.
   *
   * Nothing is sent after `notAfter`, a reading of this process's monotonic clock that is looked at directly before: reasons
   * to pay do not last. What is under way or has succeeded by then is answered all the same.
   * @throws Fault where it is too late
   */
  pay(
    request: string,
    options: { readonly maxFeeMsat: bigint; readonly timeoutMs: number; readonly notAfter?: number },
  ): Promise<PaymentState>
  find(paymentHash: string): Promise<PaymentState | undefined>
  /** An ordinary invoice of this node, for what it sells. */
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
  /** @returns the key that made the signature, undefined where it is malformed. A changed text gives another key: compare it. */
  recover(text: string, signature: string): Promise<string | undefined>
}

/** `reached`: the last node failed the HTLC, for whatever reason, so the channel leads to it. Others prove nothing yet. */
export type ProbeOutcome =
  | { readonly reached: true }
  | { readonly reached: false; readonly failedAt: 'route' | 'seller'; readonly reason: string }

/** A socket that this node must not connect to: it is not public. The message is a part of a sentence, and says why. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'
}

export interface Peers {
  /**
   * Connects, or finds itself connected. @returns false where nobody answers at that address or its key is another
   * @throws AddressRefused where the address is not public, on networks whose nodes are
   */
  connect(pubkey: string, socket: string): Promise<boolean>
  isConnected(pubkey: string): Promise<boolean>
  /** Sockets (`host:port`) that the node announced about itself; empty where gossip knows none. */
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
   * An HTLC with a hash that nobody knows, through `via` and then this very channel to `destination`. A failure that
   * only the last node can have made proves that the channel leads to it.
   * `failedAt` is the place in the route: 'route' before it reached `via`, 'seller' at `via`.
   *
   * The last node may keep the HTLC, for as long as its expiry allows: the answer comes when it lets go, so whoever asks
   * limits the wait. A kept probe has proven nothing yet, and takes a slot of both channels: ask once at a time.
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
  /** What kind of commitment both ends agreed on, in the node's own words. */
  readonly channelType: string
  /** What each side has to keep in it. */
  readonly reserveSat: bigint
  readonly state: 'pending' | 'active' | 'inactive' | 'closing'
  readonly openedByUs: boolean
  /** It came from `prepare`. What the node's owner opened in another way is his: nobody else may give it up. */
  readonly isPrepared: boolean
}

/** What stays of a channel when it is no channel any more. Where nobody but a stream could tell, some of it is null. */
export type ClosedChannel = {
  readonly outpoint: string
  readonly shortChannelId: string | null
  readonly peer: string
  /**
   * 'breach': an old state was published, and the other side punished for it. 'funding-lost': its funding never came.
   * 'abandoned': this node gave it up, and nothing of it is on the chain as far as the node knows.
   */
  readonly how: 'cooperative' | 'force' | 'breach' | 'funding-lost' | 'abandoned'
  /** Who began it; null: the node does not know, or does not say before every coin of it is back in a wallet. */
  readonly by: 'us' | 'peer' | null
  readonly closingTxid: string | null
  /** Of the block that has the closing transaction; null for one without, and where the node does not say yet. */
  readonly height: number | null
}

/** How a channel stands now. `shortChannelId` is null at least until the channel can be used. */
export type ChannelChange =
  | (Pick<OwnChannel, 'outpoint' | 'shortChannelId' | 'peer'> & { readonly state: OwnChannel['state'] })
  | (ClosedChannel & { readonly state: 'closed' })

/**
 * A channel that was negotiated and whose funding transaction nobody has seen yet. The handle is what `publish` needs,
 * the signed transaction: whoever lost it after a crash finds the outpoint in `list` as pending and can only abandon it.
 */
export type UnpublishedFunding = { readonly outpoint: string; readonly handle: string }

export interface Channels {
  list(): Promise<readonly OwnChannel[]>
  /** Every channel that this node ever had and has no more, from the block on that closed it. */
  closed(): Promise<readonly ClosedChannel[]>
  /**
   * How every channel stands, the closed ones too, then each change of that. States in between may be skipped, repeats are
   * possible, and so is silence after a fault: whoever needs certainty reads `list` and `closed` beside it. A close may be
   * told again with what was not known of it before.
   */
  changes(signal: AbortSignal): AsyncIterable<ChannelChange>
  /** Negotiates and signs the channel and keeps its funding back (PSBT with no publish). @throws OpenRefused */
  prepare(request: OpenRequest): Promise<UnpublishedFunding>
  /**
   * Hands the funding to the network; again is harmless, and brings back what the node's wallet has forgotten meanwhile.
   * @throws Fault for a funding that is not this node's or was given up
   */
  publish(funding: UnpublishedFunding): Promise<void>
  /**
   * Gives up a funding that was never published, and frees its coins; again is harmless. Never call it after `publish` was
   * called, whatever came of that: a wallet can forget what others keep, and a funding that confirms without its channel is
   * lost. @returns 'published' where the node knows that it is too late: nothing changed
   */
  abandon(funding: Pick<UnpublishedFunding, 'outpoint'>): Promise<'abandoned' | 'published'>
  /**
   * Raises the fee of an unconfirmed funding by spending its change (CPFP); a confirmed one needs nothing. Where the node
   * goes on raising by itself, it pays `maxRateSatPerVbyte` for both transactions at most. @throws OpenRefused without change
   */
  bumpFee(outpoint: string, feeRateSatPerVbyte: number, maxRateSatPerVbyte: number): Promise<void>
  /**
   * Ends a channel: with its peer where that agrees, else by force. Again is harmless, and so is a channel that is gone.
   * @throws Fault where it cannot be ended now: its funding is unconfirmed, or payments are under way
   */
  close(outpoint: string): Promise<void>
}

/** Why a node would not open a channel. `peer-*` is the other side's doing. */
export class OpenRefused extends Error {
  override readonly name = 'OpenRefused'
  readonly reason: 'insufficient-funds' | 'peer-offline' | 'peer-refused' | 'node-failed'
  constructor(reason: OpenRefused['reason'], message: string) {
    super(message)
    this.reason = reason
  }
}

export interface Wallet {
  /** Confirmed coins that no opening under way has taken. */
  confirmedSat(): Promise<bigint>
  /** Sum of what peers can send to this node. */
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
  /** It has every block there is, as far as it knows. */
  readonly synced: boolean
  /** It has heard from a peer, since its start, of the channels that there are. What its graph lacks before may be there. */
  readonly graphSynced: boolean
  readonly height: number
  /** Blocks before an HTLC's expiry at which the node itself cancels a held invoice; null where that is not known. */
  readonly holdExpiryDelta: number | null
}

/**
 * A Lightning node, as lnd can serve it. Every call throws `Fault` where the node does not answer; a call that was cut
 * off may or may not have been carried out, and is found out by the matching look-up.
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
