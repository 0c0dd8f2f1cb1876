import {
  type FieldNode,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValueNode,
  valueFromASTUntyped,
} from 'graphql'
import { invalidInput } from '../../errors.ts'
import { type Fragments, iterateFields } from './field-count.ts'

export type QueryComplexity = { readonly depth: number; readonly cost: number }
type Variables = Readonly<Record<string, unknown>>

/** The assumed number of entries of lists without pages. */
const UNPAGED_LIST_SIZES: Readonly<Record<string, number>> = { timeline: 20, deliveries: 3 }
const MAX_PAGE_SIZE = 100
const DEFAULT_PAGE_SIZE = 10

/** Introspection costs its price once for up to this number of fields. A tool queries the schema once, with about 150 fields. */
const INTROSPECTION_FIELDS = 256

/** Returns the price of introspection in points: two fifths of a query's cost limit, so that one document can pay it twice. */
export const computeIntrospectionCost = (costLimit: number): number => Math.floor((costLimit * 2) / 5)

/**
 * Counts one point per field or alias. A field in a list counts once per entry of the list's page. The cost of a fragment is
 * computed once and counted at each use, so that no document can make the computation slow. Introspection adds no depth.
 * @param schemaCost the price of introspection in points
 */
export function measureComplexity(
  operation: OperationDefinitionNode,
  fragments: Fragments,
  sentVariables: Variables,
  schemaCost = computeIntrospectionCost(5000),
): QueryComplexity {
  const cache = new Map<SelectionSetNode, QueryComplexity>()
  const variables = { ...readDefaults(operation), ...sentVariables }

  const measureSelection = (selection: SelectionSetNode): QueryComplexity => {
    const cached = cache.get(selection)
    if (cached) return cached
    let depth = 0
    let cost = 0
    for (const node of selection.selections) {
      const complexity =
        node.kind === Kind.FIELD
          ? measureField(node)
          : measureFragment(node.kind === Kind.INLINE_FRAGMENT ? node.selectionSet : fragments.get(node.name.value))
      depth = Math.max(depth, complexity.depth)
      cost += complexity.cost
    }
    const complexity = { depth, cost }
    cache.set(selection, complexity)
    return complexity
  }
  const measureFragment = (selection: SelectionSetNode | undefined): QueryComplexity =>
    selection ? measureSelection(selection) : { depth: 0, cost: 0 }
  const measureField = (field: FieldNode): QueryComplexity => {
    if (field.name.value === '__typename') return { depth: 0, cost: 0 }
    const inner = field.selectionSet ? measureSelection(field.selectionSet) : { depth: 0, cost: 0 }
    // Each further INTROSPECTION_FIELDS fields cost the price again, so that aliases within introspection are not free.
    if (field.name.value.startsWith('__'))
      return { depth: 0, cost: schemaCost * Math.max(1, Math.ceil(inner.cost / INTROSPECTION_FIELDS)) }
    return { depth: inner.depth + 1, cost: 1 + inner.cost * countEntries(field, fragments, variables) }
  }
  return measureSelection(operation.selectionSet)
}

export function assertComplexity(complexity: QueryComplexity, limit: QueryComplexity): void {
  if (complexity.depth > limit.depth)
    throw invalidInput(`The query is ${complexity.depth} levels deep; ${limit.depth} are allowed.`)
  if (complexity.cost > limit.cost)
    throw invalidInput(
      `The query costs ${complexity.cost} points; ${limit.cost} are allowed. Ask for fewer fields or smaller pages.`,
    )
}

/** The default values of the operation's variables, by name. */
const readDefaults = ({ variableDefinitions = [] }: OperationDefinitionNode): Variables =>
  Object.fromEntries(
    variableDefinitions.flatMap(({ variable, defaultValue }) =>
      defaultValue ? [[variable.name.value, valueFromASTUntyped(defaultValue)]] : [],
    ),
  )

function countEntries(field: FieldNode, fragments: Fragments, variables: Variables): number {
  const listSize = UNPAGED_LIST_SIZES[field.name.value]
  if (listSize !== undefined) return listSize
  const argument = (wanted: string) => field.arguments?.find(({ name }) => name.value === wanted)?.value
  const page = argument('page')
  if (page) return clampLimit(readLimit(page, variables))
  const input = argument('input')
  if (input && hasListField(field, fragments)) return clampLimit(readInputLimit(input, variables))
  return hasListField(field, fragments) ? DEFAULT_PAGE_SIZE : 1
}

const hasListField = (field: FieldNode, fragments: Fragments): boolean =>
  field.selectionSet !== undefined && [...iterateFields(field.selectionSet, fragments)].some(({ name }) => name.value === 'list')

/** Reads the limit of the page within a list's input. */
function readInputLimit(input: ValueNode, variables: Variables): unknown {
  if (input.kind === Kind.VARIABLE) return readField(readField(variables[input.name.value], 'page'), 'limit')
  const page = input.kind === Kind.OBJECT ? input.fields.find(({ name }) => name.value === 'page')?.value : undefined
  return page && readLimit(page, variables)
}

/** Reads a field of a variable's value, which is not validated. */
const readField = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined

function readLimit(value: ValueNode, variables: Variables): unknown {
  if (value.kind === Kind.VARIABLE) return readField(variables[value.name.value], 'limit')
  if (value.kind !== Kind.OBJECT) return undefined
  const limit = value.fields.find(({ name }) => name.value === 'limit')?.value
  if (limit?.kind === Kind.VARIABLE) return variables[limit.name.value]
  return limit?.kind === Kind.INT ? Number(limit.value) : undefined
}

const clampLimit = (limit: unknown): number =>
  typeof limit === 'number' && limit >= 1 ? Math.min(limit, MAX_PAGE_SIZE) : DEFAULT_PAGE_SIZE
