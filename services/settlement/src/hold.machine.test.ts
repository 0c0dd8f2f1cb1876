import { compile } from '@penstock/runtime/lifecycle.ts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { transition } from 'xstate'
import { settlement as contract } from '@penstock/contracts/settlement.ts'
import { holdMachine } from './hold.machine.ts'
import { type HoldStatus, statusAfter } from './lifecycle.ts'

const lifecycle = compile<HoldStatus, string>(holdMachine)

test('what moves a hold, and nothing else does', () => {
  expect(lifecycle.edges.filter(([from, , to]) => from !== to)).toEqual([
    ['NONE', 'HoldRequested', 'requested'],
    ['NONE', 'HoldRefused', 'cancelled'],
    ['requested', 'HoldRefused', 'cancelled'],
    ['requested', 'HoldIssued', 'open'],
    ['requested', 'CancelRequested', 'cancelling'],
    ['open', 'CancelRequested', 'cancelling'],
    ['open', 'HoldHeld', 'held'],
    ['held', 'CancelRequested', 'cancelling'],
    ['held', 'SettleRequested', 'settling'],
    ['settling', 'HoldSettled', 'settled'],
    ['settling', 'HoldCancelled', 'cancelled'],
    ['cancelling', 'HoldCancelled', 'cancelled'],
  ])
})

test('every fact of the contract has an edge, and every edge is a fact of the contract', () => {
  const onEdges = [...new Set(lifecycle.edges.map(([, type]) => type))].toSorted()
  expect(onEdges).toEqual(Object.keys(contract.facts).toSorted())
})

test('after SettleRequested nothing asks for a cancellation', () => {
  for (const status of ['settling', 'settled'] as const) expect(lifecycle.after(status, 'CancelRequested')).toBeUndefined()
})

test('a fact that cannot follow is a bug', () => {
  expect(() => statusAfter('settled', 'CancelRequested')).toThrow('CancelRequested cannot follow in a hold that is settled')
})

test('the table is the machine, on random histories', () => {
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
