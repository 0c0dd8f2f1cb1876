import {
  buildClientSchema,
  getIntrospectionQuery,
  getNamedType,
  GraphQLInputObjectType,
  GraphQLObjectType,
  type IntrospectionQuery,
  lexicographicSortSchema,
  printSchema,
} from 'graphql'
import assert from 'node:assert/strict'
import { test } from 'vitest'
import { openGatewayHarness } from '../../gateway-harness.fixture.ts'
import { schema, printSchemaText } from './schema.ts'

test('introspection of the running service shows the committed schema', async () => {
  const market = await openGatewayHarness()
  const { data } = await market.gql(getIntrospectionQuery())
  await market.close()
  const shown = buildClientSchema(data as IntrospectionQuery) // the query requests this
  assert.equal(`${printSchema(lexicographicSortSchema(shown))}\n`, printSchemaText())
})

test('every type has an id, and every operation is nullable so that its failure does not remove its siblings', () => {
  const roots = ['Query', 'Mutation']
  for (const type of Object.values(schema.getTypeMap())) {
    if (!(type instanceof GraphQLObjectType) || type.name.startsWith('__')) continue
    const { id, ...fields } = type.getFields()
    if (!roots.includes(type.name)) assert.equal(String(id?.type), 'String!', `${type.name}.id`)
    for (const field of Object.values(fields)) {
      const isNamespace = /(Queries|Mutations)!$/.test(String(field.type))
      if (/(Queries|Mutations)$/.test(type.name))
        assert.equal(String(field.type).endsWith('!'), isNamespace, `${type.name}.${field.name}`)
    }
  }
})

test('input types have the documented names', () => {
  const names = [
    'LiquidityOrderInput',
    'CreateOfferInput',
    'UpdateOfferInput',
    'ToggleOfferInput',
    'CreateManualOrderInput',
    'CancelOrderInput',
    'SellerAcceptOrdersInput',
    'SellerRejectOrdersInput',
  ]
  names.push(
    'SellerAddTransactionInput',
    'OrderInput',
    'PageInput',
    'CreateAccountInput',
    'LoginInput',
    'ConnectNodeInput',
    'CreateApiKeyInput',
  )
  for (const name of names) assert.ok(schema.getType(name) instanceof GraphQLInputObjectType, name)
})

test('types of the market leave the plain names to other types of the graph', () => {
  const kinds = [
    'MarketTransaction',
    'MarketTransactionList',
    'SizeAmount',
    'Transaction',
    'TransactionList',
    'SatoshiAmount',
  ].map((name) => schema.getType(name) instanceof GraphQLObjectType)
  assert.deepEqual(kinds, [true, true, true, false, false, false])
  const typeOf = (type: string, field: string) => {
    const found = schema.getType(type)
    return found instanceof GraphQLObjectType ? String(found.getFields()[field]?.type) : undefined
  }
  assert.equal(typeOf('UserTransactionQueries', 'transaction_list'), 'MarketTransactionList')
  assert.equal(typeOf('MarketTransactionList', 'list'), '[MarketTransaction!]!')
  const page = schema.getType('PageInput')
  assert.ok(page instanceof GraphQLInputObjectType)
  assert.deepEqual(
    Object.values(page.getFields()).map(({ name, type }) => [name, String(type)]),
    [
      ['limit', 'Int'],
      ['offset', 'Int'],
    ],
  )
})

test('WholeNumber is the type of each amount and block count of offers and manual orders, and of no argument', () => {
  const inputs: string[] = []
  for (const type of Object.values(schema.getTypeMap())) {
    if (type instanceof GraphQLInputObjectType)
      for (const field of Object.values(type.getFields()))
        if (String(getNamedType(field.type)) === 'WholeNumber') inputs.push(`${type.name}.${field.name}`)
    if (type instanceof GraphQLObjectType)
      for (const field of Object.values(type.getFields()))
        for (const argument of field.args)
          assert.notEqual(String(getNamedType(argument.type)), 'WholeNumber', `${type.name}.${field.name}`)
  }
  const offer = ['total_size', 'min_size', 'max_size', 'min_block_length', 'fee_rate', 'base_fee', 'fee_rate_cap', 'base_fee_cap']
  assert.deepEqual(
    inputs.toSorted(),
    [
      ...offer.flatMap((field) => [`CreateOfferInput.${field}`, `UpdateOfferInput.${field}`]),
      'CreateManualOrderInput.size',
      'OfferConditionInput.value',
      'OfferFilterInput.size',
    ].toSorted(),
  )
})
