import { type DocumentNode, type FieldNode, Kind, type OperationDefinitionNode, type SelectionSetNode } from 'graphql'

export type Fragments = ReadonlyMap<string, SelectionSetNode>

export const fragmentsOf = (document: DocumentNode): Fragments =>
  new Map(
    document.definitions.flatMap((one) =>
      one.kind === Kind.FRAGMENT_DEFINITION ? [[one.name.value, one.selectionSet] as const] : [],
    ),
  )

/**
 * The fields of a selection with those of its fragments. A fragment counts once in a selection however often it is
 * spread there, as when it is executed; that keeps nested spreads from growing without end.
 */
export function* fieldsIn(selection: SelectionSetNode, fragments: Fragments, spread = new Set<string>()): Generator<FieldNode> {
  for (const one of selection.selections) {
    if (one.kind === Kind.FIELD) yield one
    else if (one.kind === Kind.INLINE_FRAGMENT) yield* fieldsIn(one.selectionSet, fragments, spread)
    else if (!spread.has(one.name.value)) {
      spread.add(one.name.value)
      const inner = fragments.get(one.name.value)
      if (inner) yield* fieldsIn(inner, fragments, spread)
    }
  }
}

/** How many fields an operation has at each of these paths (`liquidity.buy`), whatever their aliases. Validated documents only. */
export function countAt(
  operation: OperationDefinitionNode,
  fragments: Fragments,
  paths: ReadonlySet<string>,
): ReadonlyMap<string, number> {
  const found = new Map<string, number>()
  const walk = (selection: SelectionSetNode, above: string): void => {
    for (const field of fieldsIn(selection, fragments)) {
      const path = above === '' ? field.name.value : `${above}.${field.name.value}`
      if (paths.has(path)) found.set(path, (found.get(path) ?? 0) + 1)
      else if (field.selectionSet && [...paths].some((wanted) => wanted.startsWith(`${path}.`))) walk(field.selectionSet, path)
    }
  }
  walk(operation.selectionSet, '')
  return found
}
