import { compileLifecycle } from '@penstock/runtime/lifecycle/lifecycle.ts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { transition } from 'xstate'
import { settlementContract as contract } from '@penstock/contracts/settlement.ts'
import { holdMachine } from './hold.machine.ts'
import { type HoldStatus, holdStatusAfter } from './lifecycle.ts'

const lifecycle = compileLifecycle<HoldStatus, string>(holdMachine)

test('only these facts change the status of a hold', () => {
  expect(lifecycle.edges.filter(([from, , to]) => from !== to)).toEqual([
    ['NONE', 'HoldRequested', 'requested'],
    ['NONE', 'HoldRefused', 'cancelled'],
    ['requested', 'HoldRefused', 'cancelled'],
    ['requested', 'HoldIssued', 'open'],
    ['requested', 'CancelRequested', 'cancelling'],
    ['open', 'CancelRequested', 'cancelling'],
    ['open', 'HoldHeld', 'held'],
    ['held', 'CancelRequested', 'cancelling'],
    ['held', 'SettlementStarted', 'settling'],
    ['settling', 'HoldSettled', 'settled'],
    ['settling', 'HoldCancelled', 'cancelled'],
    ['cancelling', 'HoldCancelled', 'cancelled'],
  ])
})

test('every fact of the contract has an edge, and every edge is a fact of the contract', () => {
  const onEdges = [...new Set(lifecycle.edges.map(([, type]) => type))].toSorted()
  expect(onEdges).toEqual(Object.keys(contract.facts).toSorted())
})

test('no fact requests a cancellation after SettlementStarted', () => {
  for (const status of ['settling', 'settled'] as const) expect(lifecycle.after(status, 'CancelRequested')).toBeUndefined()
})

test('a fact that the status does not allow is a bug', () => {
  expect(() => holdStatusAfter('settled', 'CancelRequested')).toThrow('CancelRequested cannot follow in a hold that is settled')
})

test('the compiled lifecycle equals the machine on random histories', () => {
  const types = Object.keys(contract.facts)
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...types), { maxLength: 40 }), (history) => {
      let snapshot = holdMachine.resolveState({ value: 'NONE' })
      let status: HoldStatus = 'NONE'
      for (const type of history) {
        const next = lifecycle.after(status, type)
        expect(snapshot.can({ type })).toBe(next !== undefined)
        if (next === undefined) continue
        ;[snapshot] = transition(holdMachine, snapshot, { type })
        status = next
        expect(snapshot.value).toBe(status)
      }
    }),
  )
})
