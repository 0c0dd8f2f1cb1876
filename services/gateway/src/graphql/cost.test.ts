import { getIntrospectionQuery, Kind, type OperationDefinitionNode, parse } from 'graphql'
import assert from 'node:assert/strict'
import { test } from 'vitest'
import { assertWeight, introspectionCost, weigh } from './cost.ts'
import { countAt, fragmentsOf } from './leaves.ts'

const operationOf = (text: string): [OperationDefinitionNode, ReturnType<typeof fragmentsOf>] => {
  const document = parse(text)
  const operation = document.definitions.find((one) => one.kind === Kind.OPERATION_DEFINITION)
  return [operation ?? assert.fail(), fragmentsOf(document)]
}
const weightOf = (text: string, variables: Record<string, unknown> = {}) => weigh(...operationOf(text), variables)

test('a point a field, a level a field', () => {
  assert.deepEqual(weightOf('{ a { b c } d }'), { depth: 2, cost: 4 })
  assert.deepEqual(weightOf('{ a: x b: x c: x }'), { depth: 1, cost: 3 })
})

test('fragments count where they are used, and are no level', () => {
  assert.deepEqual(weightOf('{ a { ...F ... on T { z } } b { ...F } } fragment F on T { x y { w } }'), { depth: 3, cost: 9 })
})

test('a page multiplies what is in it', () => {
  assert.equal(weightOf('{ offers(page: { limit: 50 }) { list { id } } }').cost, 101)
  assert.equal(weightOf('{ offers { list { id } } }').cost, 21)
  assert.equal(weightOf('query ($p: PageInput) { offers(page: $p) { list { id } } }', { p: { limit: 7 } }).cost, 15)
  assert.equal(weightOf('query ($n: Int) { offers(page: { limit: $n }) { list { id } } }', { n: 7 }).cost, 15)
  // What the resolver refuses cannot make a query cheap.
  for (const limit of [-5, 0, 'x', null, 1e9])
    assert.ok(weightOf('query ($p: PageInput) { offers(page: $p) { list { id } } }', { p: { limit } }).cost >= 21)
  assert.equal(weightOf('{ get_order { timeline { at } } }').cost, 22)
})

test('a variable that was not sent is as large as its default', () => {
  const paged = 'offers(page: $p) { list { id } }'
  assert.equal(weightOf(`query ($p: PageInput = { limit: 100 }) { ${paged} }`).cost, 201)
  assert.equal(weightOf(`query ($p: PageInput = { limit: 100 }) { ${paged} }`, { p: { limit: 7 } }).cost, 15)
  assert.equal(weightOf('query ($n: Int = 100) { offers(page: { limit: $n }) { list { id } } }').cost, 201)
  assert.equal(weightOf('query ($n: Int) { offers(page: { limit: $n }) { list { id } } }').cost, 21)
})

test('a look at the schema has one price, and __typename none', () => {
  const price = introspectionCost(5000)
  assert.deepEqual(weightOf('{ __schema { types { fields { type { name } } } } __typename a }'), { depth: 1, cost: price + 1 })
  assert.equal(weightOf(getIntrospectionQuery()).cost, price)
  assert.equal(weightOf('{ ...F } fragment F on Query { __type(name: "Query") { name } }').cost, price)
  const times = (many: number, text: string) => Array.from({ length: many }, (_, index) => `a${index}: ${text}`).join(' ')
  assert.equal(weightOf(`{ ${times(230, '__schema { types { name } }')} }`).cost, 230 * price)
  assert.equal(weightOf(`{ __schema { ${times(300, 'types { name }')} } }`).cost, 3 * price)
  assert.ok(2 * price < 5000 && 3 * price > 5000)
})

test('the sentences say what is allowed', () => {
  assert.throws(() => assertWeight({ depth: 9, cost: 1 }, { depth: 8, cost: 8 }), /9 levels deep; 8 are allowed/)
  assert.throws(() => assertWeight({ depth: 1, cost: 9 }, { depth: 8, cost: 8 }), /costs 9 points; 8 are allowed/)
})

test('limited operations are counted through aliases and fragments', () => {
  const counted = countAt(
    ...operationOf(
      'mutation { l: liquidity { a: buy ...B ...B } liquidity { ... on M { buy } } market { buy } } fragment B on M { b: buy c: buy }',
    ),
    new Set(['liquidity.buy']),
  )
  assert.deepEqual([...counted], [['liquidity.buy', 4]])
})
