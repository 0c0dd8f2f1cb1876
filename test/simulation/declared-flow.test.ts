import { expect, test } from 'vitest'
import { checkDeclaredFlow, declaredLinks } from './invariants/declared-flow.ts'

test('processes may follow every declared link', () => {
  expect(() => checkDeclaredFlow(declaredLinks)).not.toThrow()
})

test.each([
  ['a fact of a command', 'quote.RequestQuote > QuotePlaced'],
  ['a command of a process', 'quote.Quoted > settlement.IssueHold'],
  ['a call of an effect', 'effect settlement.reach > lightning.holds.settle'],
  ['a command of a job', 'job quote.prices > quote.RequestQuote'],
])('%s that no service declares is a violation', (_, link) => {
  expect(() => checkDeclaredFlow([...declaredLinks, link])).toThrow(`run npm run generate: ${link}`)
})
