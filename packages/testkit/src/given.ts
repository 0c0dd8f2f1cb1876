import assert from 'node:assert/strict'
import { type Decider, fold, type Refusal } from '@penstock/kernel/decider.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import type { CommandBody } from '@penstock/kernel/process.ts'
import { assertStorable } from './assert-storable.ts'

/**
 * given(decider, ...facts).when(command, at).then(...facts) | .refuses(code)
 *
 * All facts, given and decided, are checked against the contract that has the command.
 */
export function given<S, C extends Command, E extends Fact, R extends Refusal>(
  decider: Decider<S, C, E, R>,
  ...history: readonly E[]
) {
  const state = fold(decider, history)
  return {
    state,
    when(command: CommandBody<C>, at = 0) {
      // A command body with an id and a time is a command. The compiler cannot see this through the conditional type.
      const decision = decider.decide(state, { id: 'c1', at, ...command } as unknown as C)
      assertStorable(command.type, history, 'facts' in decision ? decision.facts : [])
      return {
        decision,
        /** Asserts that the decision is exactly these facts, and that all of them fold. */
        then: (...facts: readonly E[]) => {
          assert.deepEqual(decision, { facts })
          facts.reduce(decider.evolve, state)
        },
        refuses: (code: R['code']) => {
          assert.ok('refused' in decision, `expected a refusal, got ${JSON.stringify(decision)}`)
          assert.equal(decision.refused.code, code)
          assert.ok(decision.refused.message.length > 0, 'a refusal needs a message for the caller')
        },
      }
    },
  }
}
