import { getIntrospectionQuery, Kind, type OperationDefinitionNode, parse } from 'graphql'
import assert from 'node:assert/strict'
import { test } from 'vitest'
import { assertComplexity, computeIntrospectionCost, measureComplexity } from './cost.ts'
import { countFieldsAt, collectFragments } from './field-count.ts'

const operationOf = (text: string): [OperationDefinitionNode, ReturnType<typeof collectFragments>] => {
  const document = parse(text)
  const operation = document.definitions.find((one) => one.kind === Kind.OPERATION_DEFINITION)
  return [operation ?? assert.fail(), collectFragments(document)]
}
const complexityOf = (text: string, variables: Record<string, unknown> = {}) => measureComplexity(...operationOf(text), variables)

test('each field costs one point, and each nesting adds one level', () => {
  assert.deepEqual(complexityOf('{ a { b c } d }'), { depth: 2, cost: 4 })
  assert.deepEqual(complexityOf('{ a: x b: x c: x }'), { depth: 1, cost: 3 })
})

test('a fragment counts at each use, and adds no level', () => {
  assert.deepEqual(complexityOf('{ a { ...F ... on T { z } } b { ...F } } fragment F on T { x y { w } }'), { depth: 3, cost: 9 })
})

test('a page multiplies the cost of its entries', () => {
  assert.equal(complexityOf('{ offers(page: { limit: 50 }) { list { id } } }').cost, 101)
  assert.equal(complexityOf('{ offers { list { id } } }').cost, 21)
  assert.equal(complexityOf('query ($p: PageInput) { offers(page: $p) { list { id } } }', { p: { limit: 7 } }).cost, 15)
  assert.equal(complexityOf('query ($n: Int) { offers(page: { limit: $n }) { list { id } } }', { n: 7 }).cost, 15)
  // A limit that the resolver refuses must not make the query cheap.
  for (const limit of [-5, 0, 'x', null, 1e9])
    assert.ok(complexityOf('query ($p: PageInput) { offers(page: $p) { list { id } } }', { p: { limit } }).cost >= 21)
  assert.equal(complexityOf('{ get_order { timeline { at } } }').cost, 22)
})

test('a page within the input of a list multiplies the cost too', () => {
  const listed = (input: string) => `find_many(input: ${input}) { list { id } }`
  assert.equal(complexityOf(`{ ${listed('{ page: { limit: 50 } }')} }`).cost, 101)
  assert.equal(complexityOf(`{ ${listed('{ wallet_id: "x" }')} }`).cost, 21)
  assert.equal(complexityOf(`query ($i: Input) { ${listed('$i')} }`, { i: { page: { limit: 7 } } }).cost, 15)
  assert.equal(complexityOf(`query ($i: Input = { page: { limit: 7 } }) { ${listed('$i')} }`).cost, 15)
  assert.equal(complexityOf(`query ($p: PageInput) { ${listed('{ page: $p }')} }`, { p: { limit: 7 } }).cost, 15)
  assert.equal(complexityOf(`query ($n: Int) { ${listed('{ page: { limit: $n } }')} }`, { n: 7 }).cost, 15)
  for (const input of [{}, null, 'x', { page: null }, { page: 3 }, { page: { limit: 'x' } }])
    assert.equal(complexityOf(`query ($i: Input) { ${listed('$i')} }`, { i: input }).cost, 21)
  assert.equal(complexityOf('mutation ($i: Input) { create(input: $i) { id } }', { i: { page: { limit: 100 } } }).cost, 2)
})

test('a variable that was not sent counts with its default', () => {
  const paged = 'offers(page: $p) { list { id } }'
  assert.equal(complexityOf(`query ($p: PageInput = { limit: 100 }) { ${paged} }`).cost, 201)
  assert.equal(complexityOf(`query ($p: PageInput = { limit: 100 }) { ${paged} }`, { p: { limit: 7 } }).cost, 15)
  assert.equal(complexityOf('query ($n: Int = 100) { offers(page: { limit: $n }) { list { id } } }').cost, 201)
  assert.equal(complexityOf('query ($n: Int) { offers(page: { limit: $n }) { list { id } } }').cost, 21)
})

test('introspection has one price, and __typename is free', () => {
  const price = computeIntrospectionCost(5000)
  assert.deepEqual(complexityOf('{ __schema { types { fields { type { name } } } } __typename a }'), {
    depth: 1,
    cost: price + 1,
  })
  assert.equal(complexityOf(getIntrospectionQuery()).cost, price)
  assert.equal(complexityOf('{ ...F } fragment F on Query { __type(name: "Query") { name } }').cost, price)
  const times = (many: number, text: string) => Array.from({ length: many }, (_, index) => `a${index}: ${text}`).join(' ')
  assert.equal(complexityOf(`{ ${times(230, '__schema { types { name } }')} }`).cost, 230 * price)
  assert.equal(complexityOf(`{ __schema { ${times(300, 'types { name }')} } }`).cost, 3 * price)
  assert.ok(2 * price < 5000 && 3 * price > 5000)
})

test('the error messages contain the limits', () => {
  assert.throws(() => assertComplexity({ depth: 9, cost: 1 }, { depth: 8, cost: 8 }), /9 levels deep; 8 are allowed/)
  assert.throws(() => assertComplexity({ depth: 1, cost: 9 }, { depth: 8, cost: 8 }), /costs 9 points; 8 are allowed/)
})

test('rate-limited operations are counted through aliases and fragments', () => {
  const counted = countFieldsAt(
    ...operationOf(
      'mutation { l: liquidity { a: buy ...B ...B } liquidity { ... on M { buy } } market { buy } } fragment B on M { b: buy c: buy }',
    ),
    new Set(['liquidity.buy']),
  )
  assert.deepEqual([...counted], [['liquidity.buy', 4]])
})
