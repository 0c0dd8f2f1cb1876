import type { Lifecycle } from './lifecycle.ts'

/** The initial status of a machine whose stream does not exist yet. */
const BEFORE = 'NONE'

/**
 * Draws a lifecycle as a Mermaid state diagram. An arrow lists the facts that cause its transition. A state lists the facts
 * that do not change it, so that the arrows stay readable.
 */
export function renderDiagram({ initial, edges }: Pick<Lifecycle<string, string>, 'initial' | 'edges'>): string {
  const arrows = new Map<string, string[]>()
  const selfTransitions = new Map<string, string[]>()
  for (const [from, type, to] of edges) {
    if (from === to) selfTransitions.set(from, [...(selfTransitions.get(from) ?? []), type])
    else arrows.set(`${nameOf(from)} --> ${to}`, [...(arrows.get(`${nameOf(from)} --> ${to}`) ?? []), type])
  }
  const leaving = new Set(edges.filter(([from, , to]) => from !== to).map(([from]) => from))
  const ends = [...new Set(edges.map(([, , to]) => to))].filter((status) => !leaving.has(status))
  return [
    'stateDiagram-v2',
    ...(initial === BEFORE ? [] : [`[*] --> ${initial}`]),
    ...[...arrows].map(([arrow, types]) => `${arrow}: ${types.join(', ')}`),
    ...[...selfTransitions].map(([status, types]) => `${status}: ${status}\\n(${types.join(', ')})`),
    ...ends.map((status) => `${status} --> [*]`),
  ]
    .map((line, index) => (index === 0 ? line : `  ${line}`))
    .join('\n')
}

const nameOf = (status: string): string => (status === BEFORE ? '[*]' : status)
