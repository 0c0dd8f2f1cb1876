import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

/** The folder of programs and images that tests build or download once, for all checkouts of this machine. */
export const CACHE_FOLDER = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'penstock')

export const isFilled = (folder: string): boolean => existsSync(join(folder, 'complete'))

/**
 * Fills a folder once. It fills a temporary folder and renames it, so an interrupted call leaves no incomplete folder. Of two
 * concurrent calls, the first to finish provides the folder. @returns the folder
 */
export async function fillOnce(folder: string, fill: (partialFolder: string) => Promise<void>): Promise<string> {
  if (isFilled(folder)) return folder
  await mkdir(dirname(folder), { recursive: true })
  const partialFolder = await mkdtemp(`${folder}.partial-`)
  try {
    await fill(partialFolder)
    await writeFile(join(partialFolder, 'complete'), '')
    await chmod(partialFolder, 0o755)
    await rename(partialFolder, folder)
  } catch (error) {
    await rm(partialFolder, { recursive: true, force: true })
    if (!isFilled(folder)) throw error
  }
  return folder
}
