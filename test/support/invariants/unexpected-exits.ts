const LAST_LINES = 8

/**
 * Finds processes that exited by themselves or hung, in the output lines of a cluster. A process that logs that it did not stop
 * in time is omitted, because its servers were unavailable. A broker that hangs is omitted, because a fault may be the cause.
 * @returns the last lines of each process
 */
export function findUnexpectedExits(lines: readonly string[]): readonly string[] {
  const gaveUp = new Set<string>()
  return lines.flatMap((line, index) => {
    const [name = ''] = line.split('  ')
    if (line.includes('did not stop in time')) gaveUp.add(name)
    const isHung = name !== 'kafka' && line.includes('it hangs and is killed')
    if (!isHung && (!/ended with exit code [^0]/.test(line) || gaveUp.delete(name))) return []
    const output = lines.slice(0, index).filter((earlier) => earlier.startsWith(`${name}  `))
    return [`${output.slice(-LAST_LINES).join('\n')}\n${line}`]
  })
}
