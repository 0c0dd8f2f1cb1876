import { command } from '@penstock/kernel/process.ts'
import type { OrderTarget } from '@penstock/contracts/order.ts'
import { SECOND_MS } from '@penstock/kernel/time.ts'
import type { Gateway } from '../../ports.ts'

/**
 * Withdraws an unpaid order. The order refuses the command once its payment is held.
 * @returns the command's id
 */
export async function withdrawOrder(
  { send, ids }: Pick<Gateway, 'send' | 'ids'>,
  orderId: string,
  reason: string,
): Promise<string> {
  const commandId = ids.uuid()
  await send(command<OrderTarget>('order', orderId, { type: 'Withdraw', data: { reason } }), { commandId, correlation: orderId })
  return commandId
}

type WithdrawPorts = Pick<Gateway, 'send' | 'ids' | 'closing'> & {
  readonly commands: Pick<Gateway['commands'], 'findAnswer'>
  readonly clock: Pick<Gateway['clock'], 'monotonicMs' | 'sleep'>
  readonly log: Pick<Gateway['log'], 'warn'>
}

/** Time after which the repetition ends. A quote expires much earlier. An order that is placed later still expires unpaid. */
const PLACING_LIMIT_MS = 300 * SECOND_MS
const FIRST_CHECK_MS = 2 * SECOND_MS

/**
 * Withdraws an order that may not be placed yet. The commands that place and withdraw it arrive through two topics, in any
 * order. So the gateway repeats the withdrawal in the background until the order exists. If this process ends before that, the
 * unpaid order expires.
 * @returns after the first withdrawal is sent
 */
export async function withdrawWhenPlaced(gateway: WithdrawPorts, orderId: string, reason: string): Promise<void> {
  const first = await withdrawOrder(gateway, orderId, reason)
  void withdrawUntilPlaced(gateway, { orderId, reason, first }).catch((error: unknown) => {
    const { closing, log } = gateway
    if (!closing.aborted) log.warn({ order: orderId, reason: String(error) }, 'withdrawing an order failed; unpaid, it expires')
  })
}

type Withdrawal = { readonly orderId: string; readonly reason: string; readonly first: string }

async function withdrawUntilPlaced(gateway: WithdrawPorts, { orderId, reason, first }: Withdrawal): Promise<void> {
  const { clock, closing, commands } = gateway
  const end = clock.monotonicMs() + PLACING_LIMIT_MS
  let commandId = first
  for (let waitMs = FIRST_CHECK_MS; clock.monotonicMs() < end; waitMs *= 2) {
    await clock.sleep(waitMs, closing)
    if (closing.aborted) return
    const answer = await commands.findAnswer(commandId)
    const isUnknownOrder = answer?.outcome === 'refused' && answer.code === 'NOT_FOUND'
    if (answer && !isUnknownOrder) return
    if (isUnknownOrder) commandId = await withdrawOrder(gateway, orderId, reason)
  }
}
