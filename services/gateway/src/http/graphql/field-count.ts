import { type DocumentNode, type FieldNode, Kind, type OperationDefinitionNode, type SelectionSetNode } from 'graphql'

export type Fragments = ReadonlyMap<string, SelectionSetNode>

export const collectFragments = (document: DocumentNode): Fragments =>
  new Map(
    document.definitions.flatMap((node) =>
      node.kind === Kind.FRAGMENT_DEFINITION ? [[node.name.value, node.selectionSet] as const] : [],
    ),
  )

/**
 * Iterates over the fields of a selection and of its fragments. It visits each fragment once, as the execution does, so that
 * nested spreads cannot multiply the fields.
 */
export function* iterateFields(
  selection: SelectionSetNode,
  fragments: Fragments,
  spread = new Set<string>(),
): Generator<FieldNode> {
  for (const node of selection.selections) {
    if (node.kind === Kind.FIELD) yield node
    else if (node.kind === Kind.INLINE_FRAGMENT) yield* iterateFields(node.selectionSet, fragments, spread)
    else if (!spread.has(node.name.value)) {
      spread.add(node.name.value)
      const inner = fragments.get(node.name.value)
      if (inner) yield* iterateFields(inner, fragments, spread)
    }
  }
}

/** Counts an operation's fields at each path, such as `liquidity.buy`. Aliases do not matter. The document must be valid. */
export function countFieldsAt(
  operation: OperationDefinitionNode,
  fragments: Fragments,
  paths: ReadonlySet<string>,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  const walk = (selection: SelectionSetNode, parentPath: string): void => {
    for (const field of iterateFields(selection, fragments)) {
      const path = parentPath === '' ? field.name.value : `${parentPath}.${field.name.value}`
      if (paths.has(path)) counts.set(path, (counts.get(path) ?? 0) + 1)
      else if (field.selectionSet && [...paths].some((target) => target.startsWith(`${path}.`))) walk(field.selectionSet, path)
    }
  }
  walk(operation.selectionSet, '')
  return counts
}
