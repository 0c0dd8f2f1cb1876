import assert from 'node:assert/strict'
import { type Decider, fold, type Refusal } from '@penstock/kernel/decider.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import type { Wanted } from '@penstock/kernel/process.ts'
import { assertStorable } from './stored-shape.ts'

/**
 * given(decider, ...facts).when(command, at).then(...facts) | .refuses(code)
 *
 * All facts, given and decided, are checked against the contract that knows the command.
 */
export function given<S, C extends Command, E extends Fact, R extends Refusal>(
  decider: Decider<S, C, E, R>,
  ...history: readonly E[]
) {
  const state = fold(decider, history)
  return {
    state,
    when(command: Wanted<C>, at = 0) {
      // A wanted command with an id and a time is a command; the compiler cannot see it through the conditional type.
      const decision = decider.decide(state, { id: 'c1', at, ...command } as unknown as C)
      assertStorable(command.type, [...history, ...('facts' in decision ? decision.facts : [])])
      return {
        decision,
        /** Exactly these facts, and all of them fold. */
        then: (...facts: readonly E[]) => {
          assert.deepEqual(decision, { facts })
          facts.reduce(decider.evolve, state)
        },
        refuses: (code: R['code']) => {
          assert.ok('refused' in decision, `expected a refusal, got ${JSON.stringify(decision)}`)
          assert.equal(decision.refused.code, code)
          assert.ok(decision.refused.message.length > 0, 'a refusal has a sentence for whoever asked')
        },
      }
    },
  }
}
