import { randomBytes } from 'node:crypto'
import type { EventEmitter } from 'node:events'
import { Fault } from '@penstock/kernel/result.ts'
import { OpenRefused, type OpenRequest } from '@penstock/ports/lightning.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import { type AuthenticatedLnd, cancelPendingChannel, fundPendingChannels } from 'lightning'
import type { LndConnection } from '../connection.ts'
import { toLndFault, LndRefusal } from '../rpc-errors.ts'

const NEGOTIATION_TIMEOUT_MS = 30_000
/** Maximum wait in ms for lnd to cancel an opening, which lnd does at once. Other openings wait meanwhile. */
const CANCEL_WAIT_MS = 2000

export type AcceptedOpening = { readonly address: string; readonly amountSat: string }

/** The opening of a channel, starting with the request to the peer. */
export type ChannelNegotiation = {
  /** Resolves when the peer has accepted. @throws OpenRefused, or Fault if lnd reported no outcome */
  waitForAcceptance(): Promise<AcceptedOpening>
  /** Passes the signed funding to lnd, which continues with the peer. */
  fund(psbt: string): Promise<void>
  /**
   * Resolves when both nodes have signed, so that the channel exists. @throws OpenRefused, or Fault if lnd reported no outcome
   */
  waitForSignatures(): Promise<void>
  /** Resolves when lnd has dropped the opening, or after a short timeout. @throws Fault if lnd is unreachable */
  withdraw(): Promise<void>
}

/**
 * Requests a channel whose funding is provided later. `lightning` has a function for it that drops lnd's later messages: the
 * signatures of both nodes, or the reason of a failure.
 * @param memo private note that lnd stores with the channel
 */
export function startNegotiation(node: LndConnection, request: OpenRequest, memo: string): ChannelNegotiation {
  const id = randomBytes(32)
  const channel = id.toString('hex')
  const opening = callOpenChannel(node.lnd(), id, request, memo)
  let waitsForFunding = false
  return {
    async waitForAcceptance() {
      const funding = await withinNegotiation(node, opening.accepted, 'accept')
      waitsForFunding = true
      return { address: funding.funding_address, amountSat: funding.funding_amount }
    },
    async fund(psbt) {
      await node.ask((lnd) => fundPendingChannels({ lnd, channels: [channel], funding: psbt }))
      waitsForFunding = false
    },
    waitForSignatures: () => withinNegotiation(node, opening.signed, 'sign').finally(opening.cancel),
    async withdraw() {
      try {
        await node.ask((lnd) => cancelPendingChannel({ lnd, id: channel })).catch(ignoreRefusal)
        if (waitsForFunding) await withTimeout(node.clock, CANCEL_WAIT_MS, opening.ended).catch(ignoreFault)
      } finally {
        opening.cancel()
      }
    },
  }
}

type Funding = { readonly funding_address: string; readonly funding_amount: string }
type Update = { readonly update: 'psbt_fund' | 'chan_pending' | 'chan_open'; readonly psbt_fund?: Funding }
type Stream = EventEmitter & { cancel(): void }

/** The messages of lnd during an opening. */
type OpeningCall = {
  readonly accepted: Promise<Funding>
  readonly signed: Promise<void>
  /** Resolves when the stream of lnd has ended. */
  readonly ended: Promise<void>
  /** Closes our stream; the negotiation may continue. */
  readonly cancel: () => void
}

function callOpenChannel(lnd: AuthenticatedLnd, id: Buffer, request: OpenRequest, memo: string): OpeningCall {
  // The package leaves lnd's own calls untyped (lightning.proto: OpenChannel).
  const service = lnd.default as { openChannel: (request: object) => Stream }
  const { peer, capacitySat, isPrivate, baseFeeMsat, feeRatePpm } = request
  const stream = service.openChannel({
    node_pubkey: Buffer.from(peer, 'hex'),
    local_funding_amount: `${capacitySat}`,
    private: isPrivate,
    min_htlc_msat: '1',
    memo,
    funding_shim: { psbt_shim: { pending_chan_id: id, no_publish: true } },
    ...(baseFeeMsat !== undefined && { use_base_fee: true, base_fee: `${baseFeeMsat}` }),
    ...(feeRatePpm !== undefined && { use_fee_rate: true, fee_rate: `${feeRatePpm}` }),
  })
  const accepted = Promise.withResolvers<Funding>()
  const signed = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  // A rejection without a waiting caller must not end the process.
  for (const { promise } of [accepted, signed]) promise.catch(() => undefined)
  const end = (error: unknown): void => {
    accepted.reject(error)
    signed.reject(error)
    ended.resolve()
  }
  stream.on('data', ({ update, psbt_fund }: Update) => {
    if (update === 'psbt_fund' && psbt_fund) accepted.resolve(psbt_fund)
    else signed.resolve()
  })
  stream.on('error', (err: unknown) => end(toLndFault([503, 'UnexpectedErrorOpeningChannels', { err }])))
  stream.on('end', () => end(new Fault('lnd ended the stream of a channel opening without an outcome')))
  return { accepted: accepted.promise, signed: signed.promise, ended: ended.promise, cancel: () => stream.cancel() }
}

/** Limits the wait, because lnd does not report a peer that hangs. */
async function withinNegotiation<T>({ clock }: LndConnection, answer: Promise<T>, step: string): Promise<T> {
  let hasAnswered = false
  try {
    return await withTimeout(
      clock,
      NEGOTIATION_TIMEOUT_MS,
      answer.finally(() => (hasAnswered = true)),
    )
  } catch (error) {
    throw hasAnswered
      ? error
      : new OpenRefused('peer-refused', `the peer did not ${step} the channel within ${NEGOTIATION_TIMEOUT_MS} ms`)
  }
}

function ignoreRefusal(error: unknown): void {
  if (!(error instanceof LndRefusal)) throw error
}

function ignoreFault(error: unknown): void {
  if (!(error instanceof Fault)) throw error
}
