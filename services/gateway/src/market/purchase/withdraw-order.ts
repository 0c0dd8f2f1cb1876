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

/** Time after which the checks end. An order that is placed later still expires unpaid. */
const PLACING_LIMIT_MS = 300 * SECOND_MS
/** Time for which a late order may still be placed: order drops a late command, and clocks may differ by seconds. */
const PLACEABLE_MS = 10 * SECOND_MS
const FIRST_CHECK_MS = 2 * SECOND_MS

/** A requested order whose caller no longer waits. */
export type LateOrder = {
  readonly orderId: string
  /** The command that requested the order's quote. */
  readonly quoteCommandId: string
  readonly reason: string
  /** Reads the status from the read model, which may not contain the order yet. */
  readonly findStatus: () => Promise<OrderStatus | undefined>
  /** Called if the order was never placed, and never will be. */
  readonly releaseQuota: () => Promise<void>
}

/** A sent withdrawal, with the monotonic time of its sending. */
type Withdrawal = { readonly commandId: string; readonly sentMs: number }

/**
 * Withdraws an order that may not be placed yet. This happens in the background, because the bus may be away for longer than a
 * caller waits. The commands that place and withdraw the order arrive through two topics, in any order. If the order is placed
 * after the first withdrawal, the gateway withdraws it again. A withdrawal that finds no order when none can be placed any more
 * ends the checks. After a fault, the gateway tries again. If this process ends before that, the unpaid order expires.
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
  const startMs = clock.monotonicMs()
  const end = startMs + PLACING_LIMIT_MS
  let withdrawal: Withdrawal | undefined
  for (let waitMs = FIRST_CHECK_MS; ; waitMs *= 2) {
    try {
      const next = withdrawal ? await decideNext(gateway, late, withdrawal, startMs + PLACEABLE_MS) : 'withdraw'
      if (next === 'end') return
      const sentMs = clock.monotonicMs()
      if (next === 'withdraw') withdrawal = { sentMs, commandId: await withdrawOrder(gateway, late.orderId, late.reason) }
    } catch (error) {
      if (!(error instanceof Fault) || closing.aborted || clock.monotonicMs() >= end) throw error
      log.warn({ order: late.orderId, reason: String(error) }, 'withdrawing an order failed; trying again')
    }
    if (clock.monotonicMs() >= end) return
    await clock.sleep(waitMs, closing)
    if (closing.aborted) return
  }
}

/** @param withdrawal the last one */
async function decideNext(
  { commands, clock }: WithdrawPorts,
  late: LateOrder,
  { commandId, sentMs }: Withdrawal,
  placeableUntilMs: number,
): Promise<'withdraw' | 'wait' | 'end'> {
  const answer = await commands.findAnswer(commandId)
  if (!answer) return 'wait'
  if (answer.outcome !== 'refused' || answer.code !== 'NOT_FOUND') return 'end'
  const status = await late.findStatus()
  if (status !== undefined) return isFailure(status) ? 'end' : 'withdraw'
  // A refused quote leads to no order.
  if (sentMs > placeableUntilMs || (await isRefused(commands, late.quoteCommandId))) {
    await late.releaseQuota()
    return 'end'
  }
  return clock.monotonicMs() > placeableUntilMs ? 'withdraw' : 'wait'
}

const isRefused = async (commands: WithdrawPorts['commands'], commandId: string): Promise<boolean> =>
  (await commands.findAnswer(commandId))?.outcome === 'refused'
