import { command } from '@penstock/kernel/process.ts'
import { validateFundingOutpoint, normaliseOutpoint } from '@penstock/bitcoin/outpoint.ts'
import type { OrderTarget } from '@penstock/contracts/order.ts'
import type { AttestationData } from '@penstock/contracts/shapes.ts'
import { accountHolder } from '../../access.ts'
import { requireInTime, sendCommand } from '../../commands/commands.ts'
import { invalidInput } from '../../errors.ts'
import { parseAmountField, parseId, parsePubkeyField, parseTextField } from '../../input.ts'
import { findStoredOrder } from '../read/orders.ts'
import { computeBroadcastUntilHeight } from '../views/order-view.ts'
import { mutation } from '../../use-case.ts'
import { requireRole } from './participant.ts'
import { waitForVerdict } from './submission-verdict.ts'
import { getAnswerDeadline } from '../../commands/answer-deadline.ts'
import type { AttestationInput, MarketSellerMutationsAddTransactionArgs } from '../../generated/schema-types.ts'

/** Submits the seller's funding outpoint. Success means that settlement has recorded it, so the seller may publish. */
export const addTransaction = mutation({
  path: 'market.order.seller.add_transaction',
  access: accountHolder,
  input: parseFunding,
  run: async ({ orderId, outpoint, attestation }, { gateway, caller: { accountId } }) => {
    await requireRole(gateway, accountId, orderId)
    const until = getAnswerDeadline(gateway)
    const submission = command<OrderTarget>('order', orderId, {
      type: 'SubmitOutpoint',
      data: { by: accountId, outpoint, attestation },
    })
    await sendCommand(gateway, submission, { until, isValidLate: true })
    const verdict = requireInTime(await waitForVerdict(gateway, orderId, ({ outpoints }) => outpoints[outpoint], until))
    if (verdict.state === 'refused') throw invalidInput(verdict.reason ?? 'The transaction was refused')
    const storedOrder = await findStoredOrder(gateway.views, orderId)
    const broadcast_until_height = storedOrder ? computeBroadcastUntilHeight(storedOrder.order, verdict.attempt) : null
    return { id: orderId, success: true, broadcast_until_height }
  },
})

function parseFunding({ input }: MarketSellerMutationsAddTransactionArgs) {
  const fault = validateFundingOutpoint(input.transaction)
  if (fault !== undefined) throw invalidInput(fault)
  const outpoint = normaliseOutpoint(input.transaction) ?? input.transaction
  const attestation = input.attestation ? parseAttestation(outpoint, input.attestation) : null
  return { orderId: parseId(input.order_id), outpoint, attestation }
}

function parseAttestation(outpoint: string, input: AttestationInput): AttestationData {
  const signature = parseTextField(input.signature, 'attestation.signature', 1, 256)
  return {
    outpoint,
    capacitySat: `${parseAmountField(input.capacity, 'attestation.capacity', { min: 1n })}`,
    nodeKeys: parsePubkeyPair(input.node_keys, 'attestation.node_keys'),
    ...(input.funding_keys && { fundingKeys: parsePubkeyPair(input.funding_keys, 'attestation.funding_keys') }),
    channelType: parseTextField(input.channel_type, 'attestation.channel_type', 0, 64),
    pushSat: `${parseAmountField(input.push_sats, 'attestation.push_sats')}`,
    reserveSat: `${parseAmountField(input.reserve_sats, 'attestation.reserve_sats')}`,
    signature,
  }
}

function parsePubkeyPair(keys: readonly string[], field: string): [string, string] {
  const [first, second, ...more] = keys.map((key) => parsePubkeyField(key, field))
  if (first === undefined || second === undefined || more.length > 0) throw invalidInput(`${field} must be two public keys`)
  return [first, second]
}
