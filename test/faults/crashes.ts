const LAST_WORDS = 8

/**
 * Processes that ended by themselves, by a launcher's lines; one that is told to stop while its servers are away says so,
 * and gives up. @returns for each what it said last
 */
export function crashes(lines: readonly string[]): readonly string[] {
  const gaveUp = new Set<string>()
  return lines.flatMap((line, index) => {
    const [name = ''] = line.split('  ')
    if (line.includes('did not stop in time')) gaveUp.add(name)
    if (!/ended with exit code [^0]/.test(line) || gaveUp.delete(name)) return []
    const said = lines.slice(0, index).filter((earlier) => earlier.startsWith(`${name}  `))
    return [`${said.slice(-LAST_WORDS).join('\n')}\n${line}`]
  })
}
