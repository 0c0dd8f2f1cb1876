import { command } from '@penstock/kernel/process.ts'
import { isFailure, type OrderStatus } from '@penstock/contracts/order/lifecycle.ts'
import type { OrderTarget } from '@penstock/contracts/order.ts'
import { Fault } from '@penstock/kernel/result.ts'
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

/** Time after which the checks end. Order drops a late command to place an order much earlier. */
const PLACING_LIMIT_MS = 300 * SECOND_MS
const FIRST_CHECK_MS = 2 * SECOND_MS

/** A requested order whose caller no longer waits. */
export type LateOrder = {
  readonly orderId: string
  /** The command that requested the order's quote. */
  readonly quoteCommandId: string
  readonly reason: string
  /** Reads the status from the read model, which may not contain the order yet. */
  readonly findStatus: () => Promise<OrderStatus | undefined>
}

/**
 * Withdraws an order that may not be placed yet. This happens in the background, because the bus may be away for longer than a
 * caller waits. The commands that place and withdraw the order arrive through two topics, in any order. If the order is placed
 * after the first withdrawal, the gateway withdraws it again. A dropped command leads to no order, and so to no withdrawal.
 * After a fault, the gateway tries again. If this process ends before that, the unpaid order expires.
 */
export function withdrawWhenPlaced(gateway: WithdrawPorts, late: LateOrder): void {
  void withdrawUntilPlaced(gateway, late).catch((error: unknown) => {
    const { closing, log } = gateway
    if (closing.aborted) return
    log.warn({ order: late.orderId, reason: String(error) }, 'withdrawing an order failed; unpaid, it expires')
  })
}

async function withdrawUntilPlaced(gateway: WithdrawPorts, late: LateOrder): Promise<void> {
  const { clock, closing, log } = gateway
  const end = clock.monotonicMs() + PLACING_LIMIT_MS
  let commandId: string | undefined
  for (let waitMs = FIRST_CHECK_MS; ; waitMs *= 2) {
    try {
      const next = commandId === undefined ? 'withdraw' : await decideNext(gateway, late, commandId)
      if (next === 'end') return
      if (next === 'withdraw') commandId = await withdrawOrder(gateway, late.orderId, late.reason)
    } catch (error) {
      if (!(error instanceof Fault) || closing.aborted || clock.monotonicMs() >= end) throw error
      log.warn({ order: late.orderId, reason: String(error) }, 'withdrawing an order failed; trying again')
    }
    if (clock.monotonicMs() >= end) return
    await clock.sleep(waitMs, closing)
    if (closing.aborted) return
  }
}

/** @param commandId the last withdrawal */
async function decideNext({ commands }: WithdrawPorts, late: LateOrder, commandId: string): Promise<'withdraw' | 'wait' | 'end'> {
  const answer = await commands.findAnswer(commandId)
  if (!answer) return 'wait'
  if (answer.outcome !== 'refused' || answer.code !== 'NOT_FOUND') return 'end'
  // A refused quote leads to no order.
  const status = await late.findStatus()
  if (status === undefined) return (await isRefused(commands, late.quoteCommandId)) ? 'end' : 'wait'
  return isFailure(status) ? 'end' : 'withdraw'
}

const isRefused = async (commands: WithdrawPorts['commands'], commandId: string): Promise<boolean> =>
  (await commands.findAnswer(commandId))?.outcome === 'refused'
