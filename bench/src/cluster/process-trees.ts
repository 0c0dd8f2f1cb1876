import { readdirSync, readFileSync } from 'node:fs'

type NamedProcess = { readonly name: string; readonly pid: number | undefined }
/** The ids of a process and of its descendants. */
export type ProcessTree = { readonly name: string; readonly pids: readonly number[] }

/** Lists each running process with its descendants: PostgreSQL, for example, serves each connection in a child process. */
export function listProcessTrees(processes: readonly NamedProcess[]): readonly ProcessTree[] {
  const children = mapChildProcesses()
  const listDescendants = (pid: number): readonly number[] => [pid, ...(children.get(pid) ?? []).flatMap(listDescendants)]
  return processes.flatMap(({ name, pid }) => (pid === undefined ? [] : [{ name, pids: listDescendants(pid) }]))
}

/** Reads a file of /proc. @returns an empty text if the process has ended */
export function readIfPresent(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function mapChildProcesses(): ReadonlyMap<number, readonly number[]> {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const parents = all.map(
    (pid) => [Number(/^PPid:\s+(\d+)/m.exec(readIfPresent(`/proc/${pid}/status`))?.[1] ?? 0), Number(pid)] as const,
  )
  return new Map([...Map.groupBy(parents, ([parent]) => parent)].map(([parent, pairs]) => [parent, pairs.map(([, pid]) => pid)]))
}
