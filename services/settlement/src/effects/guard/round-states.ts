import type { Settlement } from '../../state.ts'
import { loadSettlement, type SettlementJobContext } from '../stream-access.ts'

/**
 * The states of one round, as the round read them at its start. A state is read again after a command of the round. A change by
 * another process in the meantime waits for the next round, and every command is decided at the newest state.
 */
export function createRoundStates(context: SettlementJobContext, read: ReadonlyMap<string, Settlement>) {
  const states = new Map(read)
  return {
    /** @param act returns whether it decided a command */
    async update(orderId: string, act: (state: Settlement) => Promise<boolean>): Promise<void> {
      const state = states.get(orderId) ?? (await loadSettlement(context, orderId))
      states.delete(orderId)
      if (!(await act(state))) states.set(orderId, state)
    },
  }
}
