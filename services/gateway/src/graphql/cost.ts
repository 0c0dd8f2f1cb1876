import {
  type FieldNode,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValueNode,
  valueFromASTUntyped,
} from 'graphql'
import { invalid } from '../errors.ts'
import { type Fragments, fieldsIn } from './leaves.ts'

export type Weight = { readonly depth: number; readonly cost: number }
type Variables = Readonly<Record<string, unknown>>

/** Lists that are not read in pages are taken to have so many entries. */
const plainLists: Readonly<Record<string, number>> = { timeline: 20 }
const MAX_PAGE = 100
const DEFAULT_PAGE = 10

/** The queries of tools ask for the schema once, by some hundred and fifty fields. */
const INTROSPECTION_FIELDS = 256

/** What a look at the schema costs: two of them fit under the limit, and a little beside. */
export const introspectionCost = (queryCost: number): number => Math.floor((queryCost * 2) / 5)

/**
 * A point for a field, times its page for what is in a list; aliases count each. Fragments are weighed once and counted
 * wherever they are used, so that a document cannot make the scale itself work long. Introspection has rules of its own:
 * its depth is free, and the whole schema has one price.
 */
export function weigh(
  operation: OperationDefinitionNode,
  fragments: Fragments,
  sent: Variables,
  schemaCost = introspectionCost(5000),
): Weight {
  const known = new Map<SelectionSetNode, Weight>()
  const variables = { ...defaultsOf(operation), ...sent }

  const weighAll = (selection: SelectionSetNode): Weight => {
    const before = known.get(selection)
    if (before) return before
    let depth = 0
    let cost = 0
    for (const one of selection.selections) {
      const weight =
        one.kind === Kind.FIELD
          ? weighField(one)
          : weighFragment(one.kind === Kind.INLINE_FRAGMENT ? one.selectionSet : fragments.get(one.name.value))
      depth = Math.max(depth, weight.depth)
      cost += weight.cost
    }
    const weight = { depth, cost }
    known.set(selection, weight)
    return weight
  }
  const weighFragment = (selection: SelectionSetNode | undefined): Weight =>
    selection ? weighAll(selection) : { depth: 0, cost: 0 }
  const weighField = (field: FieldNode): Weight => {
    if (field.name.value === '__typename') return { depth: 0, cost: 0 }
    const inner = field.selectionSet ? weighAll(field.selectionSet) : { depth: 0, cost: 0 }
    // `__schema` and `__type`: each has the price again for every so many fields, so that aliases within gain nothing.
    if (field.name.value.startsWith('__'))
      return { depth: 0, cost: schemaCost * Math.max(1, Math.ceil(inner.cost / INTROSPECTION_FIELDS)) }
    return { depth: inner.depth + 1, cost: 1 + inner.cost * entriesOf(field, fragments, variables) }
  }
  return weighAll(operation.selectionSet)
}

export function assertWeight(weight: Weight, most: Weight): void {
  if (weight.depth > most.depth) throw invalid(`The query is ${weight.depth} levels deep; ${most.depth} are allowed.`)
  if (weight.cost > most.cost)
    throw invalid(`The query costs ${weight.cost} points; ${most.cost} are allowed. Ask for fewer fields or smaller pages.`)
}

/** What a variable that was not sent stands for. */
const defaultsOf = ({ variableDefinitions = [] }: OperationDefinitionNode): Variables =>
  Object.fromEntries(
    variableDefinitions.flatMap(({ variable, defaultValue }) =>
      defaultValue ? [[variable.name.value, valueFromASTUntyped(defaultValue)]] : [],
    ),
  )

function entriesOf(field: FieldNode, fragments: Fragments, variables: Variables): number {
  const list = plainLists[field.name.value]
  if (list !== undefined) return list
  const page = field.arguments?.find(({ name }) => name.value === 'page')
  if (page) return within(limitOf(page.value, variables))
  return holdsList(field, fragments) ? DEFAULT_PAGE : 1
}

const holdsList = (field: FieldNode, fragments: Fragments): boolean =>
  field.selectionSet !== undefined && [...fieldsIn(field.selectionSet, fragments)].some(({ name }) => name.value === 'list')

function limitOf(value: ValueNode, variables: Variables): unknown {
  if (value.kind === Kind.VARIABLE) {
    const page = variables[value.name.value]
    return typeof page === 'object' && page !== null && 'limit' in page ? page.limit : undefined
  }
  if (value.kind !== Kind.OBJECT) return undefined
  const limit = value.fields.find(({ name }) => name.value === 'limit')?.value
  if (limit?.kind === Kind.VARIABLE) return variables[limit.name.value]
  return limit?.kind === Kind.INT ? Number(limit.value) : undefined
}

const within = (limit: unknown): number => (typeof limit === 'number' && limit >= 1 ? Math.min(limit, MAX_PAGE) : DEFAULT_PAGE)
