import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findFreePort } from './free-port.ts'

/** @returns the content of the file. The first call creates it by a rename, so that it is never incomplete. */
export async function readOrCreate(file: string, make: () => Promise<string>): Promise<string> {
  if (existsSync(file)) return readFile(file, 'utf8')
  await mkdir(join(file, '..'), { recursive: true })
  const text = await make()
  await rm(`${file}.partial`, { force: true })
  await writeFile(`${file}.partial`, text, { mode: 0o600 })
  await rename(`${file}.partial`, file)
  return text
}

/** Reserves ports, and stores them in the folder, so that a restarted server has the same ports for its clients. */
export async function readOrReservePorts(folder: string, count: number): Promise<readonly number[]> {
  const text = await readOrCreate(join(folder, 'ports'), async () => {
    const free = new Set<number>()
    while (free.size < count) free.add(await findFreePort())
    return [...free].join(' ')
  })
  return text.split(' ').map(Number)
}
