import type { Command } from 'commander'
import { orderText } from '../order-text.ts'
import { leaf, print, segment, type Shell } from '../shell.ts'

export function orderCommands(program: Command, shell: Shell): void {
  const order = program.command('order').description('orders of anybody')
  leaf(
    order,
    'show',
    'one order: statuses, attempts, hold, payout, ledger and timeline',
    'order show 019aa0c2-7d1e-7b2c-9f41-3f6f1f0f7a55',
  )
    .argument('<id>', "the order's id, which is its transaction_id")
    .action(async (id: string, options: { json?: boolean }) =>
      print(shell, options, await shell.ask('GET', `/orders/${segment(id)}`), orderText),
    )
}
