import { paymentHashOf } from '@penstock/bitcoin/hex.ts'
import type { SettlementCommand } from '@penstock/contracts/settlement.ts'
import type { Wanted } from '@penstock/kernel/process.ts'
import { Bug, Fault, must } from '@penstock/kernel/result.ts'
import type { Invoice } from '@penstock/ports/lightning.ts'
import { inTime } from '@penstock/ports/in-time.ts'
import { within } from '@penstock/ports/within.ts'
import { crashPoint } from '@penstock/runtime/crash-points.ts'
import { isClaimable } from '../heights.ts'
import type { Settlement } from '../state.ts'
import type { Context } from './ports.ts'

/** A call that is cut off is made again: both can be repeated. */
const ANSWER_TIMEOUT_MS = 30_000

/** Takes the buyer's money. What the node answers is a hint; the outcome is what it shows afterwards. */
export async function settle({ hold }: Settlement, { id, ports }: Context): Promise<Wanted<SettlementCommand>> {
  const { request } = hold
  must(request, 'a hold has terms')
  const { lightning, keyring, clock } = ports
  const preimage = keyring.preimageOf(request.keyId, id, request.issue)
  // A keyring that was mixed up must not give away a preimage that belongs to something else.
  if (paymentHashOf(preimage) !== request.paymentHash)
    throw new Bug(`key "${request.keyId}" does not open this hold; look for the keyring that it was made with`)
  const lookedAt = clock.monotonicMs()
  const height = await presentHeight(ports)
  inTime(clock, lookedAt + ANSWER_TIMEOUT_MS)
  // A call that was cut off may have settled it before: what the node shows counts, whatever the height.
  const outcome = isClaimable(hold, height)
    ? await within(clock, ANSWER_TIMEOUT_MS, lightning.holds.settle(preimage))
    : 'too-late'
  crashPoint('settlement.settle.before-look')
  const invoice = await within(clock, ANSWER_TIMEOUT_MS, lightning.holds.find(request.paymentHash))
  if (invoice?.state === 'settled') return taken(invoice, clock.now())
  if (invoice?.state === 'cancelled') return { type: 'RecordNodeCancelled', data: { at: clock.now(), height } }
  if (outcome === 'too-late' && invoice) return { type: 'RecordSettleMissed', data: { height } }
  throw new Fault(`the node answered "${outcome}" and shows the invoice ${invoice?.state ?? 'not at all'}`)
}

/**
 * The highest that the chain or the node tells: a payer may know each block that one of them does.
 * @throws Fault while neither has caught up, when any height may have passed
 */
async function presentHeight({ lightning, chain, clock, network }: Context['ports']): Promise<number> {
  const [node, tip] = await within(clock, ANSWER_TIMEOUT_MS, Promise.all([lightning.info(), chain.tip()]))
  // On a regression test network both call themselves behind where nobody has made a block for hours.
  if (network !== 'regtest' && !node.synced && !tip.synced) throw new Fault('the node has not caught up with the chain yet')
  return Math.max(node.height, tip.height)
}

/** The node shows the payment settled. */
export const taken = (invoice: Invoice, settledAt: number): Wanted<SettlementCommand> => ({
  type: 'RecordSettled',
  data: { settledAt, receivedMsat: `${settledMsat(invoice)}` },
})

const settledMsat = ({ htlcs }: Invoice): bigint =>
  htlcs.reduce((sum, { state, amountMsat }) => (state === 'settled' ? sum + amountMsat : sum), 0n)
