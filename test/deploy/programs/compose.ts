import { mkdir, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { buildOnce, runGo, type BuildRecipe } from './build-once.ts'

const module = join(import.meta.dirname, 'compose')

/** The recipe for Docker's compose plug-in, which checks a file without a Docker engine and without the network. */
export async function createComposeRecipe(): Promise<BuildRecipe> {
  const goMod = join(module, 'go.mod')
  const version = /docker\/compose\/v5 (v\S+)/.exec(await readFile(goMod, 'utf8'))?.[1]
  if (version === undefined) throw new Error(`${goMod} requires no compose`)
  return {
    name: 'compose',
    version,
    files: [goMod, join(module, 'go.sum')],
    revision: 1,
    async build(folder) {
      const flags = ['-trimpath', '-buildvcs=false', '-ldflags', '-s -w', '-o', join(folder, 'cmd')]
      await runGo(module, ['build', ...flags, 'github.com/docker/compose/v5/cmd'], { GOFLAGS: '-mod=readonly' })
      // The plug-in also runs as the stand-alone program `docker-compose`.
      await mkdir(join(folder, 'bin'))
      await rename(join(folder, 'cmd'), join(folder, 'bin', 'docker-compose'))
    },
  }
}

/** @returns the folder with `docker-compose` in it */
export const buildComposePrograms = async (): Promise<string> => join(await buildOnce(await createComposeRecipe()), 'bin')
