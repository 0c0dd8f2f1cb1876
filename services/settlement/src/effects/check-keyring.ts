import { paymentHashOf } from '@penstock/bitcoin/hex.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import type { Keyring } from '@penstock/ports/keyring.ts'
import type { ServiceContext } from '@penstock/runtime/service.ts'
import type { HoldRequest, Hold } from '../hold/hold.ts'
import type { SettlementPorts } from './ports.ts'
import { listUnfinishedOrders, loadSettlement } from './stream-access.ts'

type StartContext = Pick<ServiceContext<SettlementPorts>, 'ports' | 'load' | 'listOpenStreams'>

const CONCURRENCY = 16
const ANSWER_TIMEOUT_MS = 10_000

/** Statuses from which a hold can still be settled, which needs its preimage. */
const STATUSES_WITH_KEY: readonly Hold['status'][] = ['requested', 'open', 'held', 'settling']

/**
 * Refuses a start with a keyring that lacks the key of an open hold, because such a payment could never be settled. Keyrings that
 * were made anew may use the same name for another key, so the preimage is compared and not the name.
 * @throws Error that names the holds
 */
export async function checkKeyring(context: StartContext): Promise<void> {
  const orders = await listUnfinishedOrders(context)
  const unopened: string[] = []
  for (let start = 0; start < orders.length; start += CONCURRENCY) {
    const checks = orders.slice(start, start + CONCURRENCY).map((orderId) => findUnopenedHold(context, orderId))
    for (const request of await Promise.all(checks)) if (request) unopened.push(`${request.paymentHash} (key "${request.keyId}")`)
  }
  if (unopened.length === 0) return
  throw new Error(
    `the keyring does not open ${unopened.length} of the open holds: put back the keyring that they were made with. ` +
      `If no copy of it exists, cancel these payments at the node: ${unopened.join(', ')}`,
  )
}

/** @returns the request of a hold that is open and needs a key that the keyring lacks */
async function findUnopenedHold(context: StartContext, orderId: string): Promise<HoldRequest | undefined> {
  const hold = await readHold(context, orderId)
  if (!hold?.request || ![...STATUSES_WITH_KEY, 'settled'].includes(hold.status)) return undefined
  if (canOpen(context.ports.keyring, orderId, hold.request)) return undefined
  if (hold.status === 'settled') {
    const { keyId } = hold.request
    context.ports.log.error({ order: orderId, keyId }, 'the keyring lacks the key by which the buyer could prove its payment')
    return undefined
  }
  return (await isOpenAtNode(context, hold.request)) ? hold.request : undefined
}

/** A stream that cannot be read must not prevent the start, because the guard still has to check all others. */
async function readHold(context: StartContext, orderId: string): Promise<Hold | undefined> {
  try {
    return (await loadSettlement(context, orderId)).hold
  } catch (error) {
    context.ports.log.error({ order: orderId, reason: String(error) }, 'the key of this order was not checked')
    return undefined
  }
}

function canOpen(keyring: Keyring, orderId: string, { keyId, issue, paymentHash }: HoldRequest): boolean {
  try {
    return paymentHashOf(keyring.preimageOf(keyId, orderId, issue)) === paymentHash
  } catch (error) {
    if (error instanceof Fault) return false
    throw error
  }
}

/** The node may have ended a hold that the stores show as open. A hold counts as open while the node does not answer. */
async function isOpenAtNode({ ports: { clock, lightning } }: StartContext, { paymentHash }: HoldRequest): Promise<boolean> {
  try {
    const invoice = await withTimeout(clock, ANSWER_TIMEOUT_MS, lightning.holds.find(paymentHash))
    return invoice?.state === 'open' || invoice?.state === 'held'
  } catch (error) {
    if (error instanceof Fault) return true
    throw error
  }
}
