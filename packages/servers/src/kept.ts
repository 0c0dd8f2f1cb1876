import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from './free-port.ts'

/** @returns what the file says; made the first time, and written beside, so that there is never half of it */
export async function kept(file: string, make: () => Promise<string>): Promise<string> {
  if (existsSync(file)) return readFile(file, 'utf8')
  await mkdir(join(file, '..'), { recursive: true })
  const text = await make()
  await rm(`${file}.partial`, { force: true })
  await writeFile(`${file}.partial`, text, { mode: 0o600 })
  await rename(`${file}.partial`, file)
  return text
}

/** Clients and neighbours know a server by its port, so it is the same after a restart. */
export async function keptPorts(folder: string, count: number): Promise<readonly number[]> {
  const text = await kept(join(folder, 'ports'), async () => {
    const free = new Set<number>()
    while (free.size < count) free.add(await freePort())
    return [...free].join(' ')
  })
  return text.split(' ').map(Number)
}
