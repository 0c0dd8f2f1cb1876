import { buildSchema, parse, validate } from 'graphql'
import { expect, test } from 'vitest'
import { schema } from '../../services/gateway/src/http/graphql/schema.ts'
import { findOperations, isPaged, takesIdempotencyKey } from './find-operations.ts'
import { renderDocument, renderOperationTable, renderOperationTypes } from './render-operations.ts'
import { renderDeclarations } from './render-types.ts'

const shop = buildSchema(`
  type Query { shop: ShopQueries! }
  type Mutation { shop: ShopMutations! }
  type ShopQueries { id: String!, sale: SaleQueries! }
  type SaleQueries {
    id: String!
    find_one(id: String!): Sale
    "Newest first."
    find_many(input: FindSalesInput): FindSales
    names: [String!]
  }
  type ShopMutations { id: String!, sale: SaleMutations! }
  type SaleMutations { id: String!, create(input: CreateSaleInput!): Sale, test(id: String!): Boolean }
  input FindSalesInput { state: SaleState, page: PageInput }
  input PageInput { limit: Int }
  input CreateSaleInput { amount: String!, tags: [String!], idempotency_key: String }
  enum SaleState { OPEN CLOSED }
  type FindSales { id: String!, total_count: Int!, list(state: SaleState): [Sale!]! }
  type Sale {
    id: String!
    state: SaleState
    "The customer."
    buyer: Buyer!
    old_total: String @deprecated
    receipt(password: String): String
  }
  type Buyer { id: String!, name: String, friend: Friend, ages: [Int] }
  type Friend { id: String!, friends: [Buyer!]! }
`)
const operations = findOperations(shop)
const find = (path: string) => {
  const operation = operations.find((one) => one.path.join('.') === path)
  if (!operation) throw new Error(`${path} is not an operation`)
  return operation
}

test('each nullable field of a namespace is an operation', () => {
  expect(operations.map(({ kind, path }) => `${kind} ${path.join('.')}`)).toEqual([
    'query shop.sale.find_one',
    'query shop.sale.find_many',
    'query shop.sale.names',
    'mutation shop.sale.create',
    'mutation shop.sale.test',
  ])
  expect(operations.filter(isPaged)).toEqual([find('shop.sale.find_many')])
  expect(operations.filter(takesIdempotencyKey)).toEqual([find('shop.sale.create')])
})

test('a document selects scalars and records, and leaves out deprecated fields, fields with arguments and ways back', () => {
  expect(renderDocument(find('shop.sale.find_one'))).toBe(
    'query ShopSaleFindOne($id: String!) { shop { sale { find_one(id: $id) { id state buyer { id name ages } } } } }',
  )
  expect(renderDocument(find('shop.sale.names'))).toBe('query ShopSaleNames { shop { sale { names } } }')
  expect(renderDocument(find('shop.sale.find_many'))).toContain('{ id total_count list { id state buyer { id name ages } } }')
})

test('the functions take one input or all arguments, and never return null', () => {
  expect(renderOperationTypes(operations)).toBe(`export type ApiOperations = {
  readonly shop: {
    readonly sale: {
      readonly findOne: (args: { readonly id: string }, options?: CallOptions) => Promise<Sale>
      /** Newest first. */
      readonly findMany: PagedOperation<[input?: FindSalesInput, options?: CallOptions], FindSales>
      readonly names: (options?: CallOptions) => Promise<readonly string[]>
      readonly create: (input: CreateSaleInput, options?: CallOptions) => Promise<Sale>
      readonly test: (args: { readonly id: string }, options?: CallOptions) => Promise<boolean>
    }
  }
}
`)
})

test('types have the selected fields only', () => {
  const declarations = renderDeclarations([
    find('shop.sale.find_one').type,
    ...find('shop.sale.create').arguments.map((one) => one.type),
  ])
  expect(declarations).toBe(`export type Sale = {
  readonly id: string
  readonly state: SaleState | null
  /** The customer. */
  readonly buyer: Buyer
}

export type SaleState = 'OPEN' | 'CLOSED'

export type Buyer = {
  readonly id: string
  readonly name: string | null
  readonly ages: readonly (number | null)[] | null
}

export type CreateSaleInput = {
  readonly amount: string
  readonly tags?: readonly string[] | null | undefined
  readonly idempotency_key?: string | null | undefined
}
`)
})

test('only queries, and mutations with a key, may be repeated', () => {
  const table = renderOperationTable(operations)
  const repetitions = [...table.matchAll(/path: '([^']+)',[^}]*?repetition: '([^']+)'/g)].map(([, ...found]) => found.join(' '))
  expect(repetitions).toEqual([
    'shop.sale.find_one harmless',
    'shop.sale.find_many harmless',
    'shop.sale.names harmless',
    'shop.sale.create with-key',
    'shop.sale.test never',
  ])
})

test('two operations with one name are refused', () => {
  const twins = buildSchema('type Query { a: A! } type Mutation { a: A! } type A { find: String }')
  expect(() => renderOperationTypes(findOperations(twins))).toThrow('two operations a.find')
})

test('the gateway accepts every document', () => {
  const faults = findOperations(schema).flatMap((operation) => validate(schema, parse(renderDocument(operation))))
  expect(faults).toEqual([])
})
