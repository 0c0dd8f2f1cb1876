import { getNamedType, type GraphQLField, type GraphQLObjectType, type GraphQLOutputType, isObjectType } from 'graphql'

type SelectableField = GraphQLField<unknown, unknown>

/**
 * Fields that the client leaves out, by type. With them a page of 100 entries would cost more than a gateway allows by default.
 * Other fields have the same values, or the query of the single record returns them.
 */
export const OMITTED_FIELDS: Readonly<Record<string, readonly string[]>> = {
  BitcoinAssetAmount: ['asset'],
  MarketOrders: ['total'],
  OrderFees: ['fixed', 'variable', 'amboss'],
  SimpleMarketOffer: ['total_amount', 'locked_amount', 'min_amount', 'max_amount', 'fees', 'promises'],
  SimpleMarketOrder: ['amount', 'asset', 'promises', 'refund'],
}

/**
 * Returns the fields of a type that the client selects, wherever the type occurs: its scalars and its records. A field with
 * arguments is left out, except for the list of a page. So are deprecated fields, and fields that lead back to the type.
 */
export const listSelectedFields = (type: GraphQLObjectType): readonly SelectableField[] =>
  listCandidates(type).filter((field) => !leadsTo(field, type))

function listCandidates(type: GraphQLObjectType): readonly SelectableField[] {
  const omitted = OMITTED_FIELDS[type.name] ?? []
  return Object.values(type.getFields()).filter(
    ({ name, args, deprecationReason }) =>
      (args.length === 0 || name === 'list') && deprecationReason === undefined && !omitted.includes(name),
  )
}

function leadsTo({ type }: SelectableField, target: GraphQLObjectType, visited = new Set<GraphQLObjectType>()): boolean {
  const record = getNamedType(type)
  if (record === target) return true
  if (!isObjectType(record) || visited.has(record)) return false
  visited.add(record)
  return listCandidates(record).some((field) => leadsTo(field, target, visited))
}

/** Renders the selection of a value. @returns an empty text for a scalar */
export function renderSelection(type: GraphQLOutputType): string {
  const record = getNamedType(type)
  if (!isObjectType(record)) return ''
  const fields = listSelectedFields(record).map((field) => field.name + renderSelection(field.type))
  return ` { ${fields.join(' ')} }`
}
