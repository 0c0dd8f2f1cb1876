import { mkdir, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { buildOnce, go, type Recipe } from './build-once.ts'

const module = join(import.meta.dirname, 'compose')

/** The compose plug-in of the docker client. Checking a file needs neither the client's engine nor the network. */
export async function composeRecipe(): Promise<Recipe> {
  const goMod = join(module, 'go.mod')
  const version = /docker\/compose\/v5 (v\S+)/.exec(await readFile(goMod, 'utf8'))?.[1]
  if (version === undefined) throw new Error(`${goMod} requires no compose`)
  return {
    name: 'compose',
    version,
    files: [goMod, join(module, 'go.sum')],
    revision: 1,
    async make(folder) {
      const flags = ['-trimpath', '-buildvcs=false', '-ldflags', '-s -w', '-o', join(folder, 'cmd')]
      await go(module, ['build', ...flags, 'github.com/docker/compose/v5/cmd'], { GOFLAGS: '-mod=readonly' })
      // The plug-in also works by itself: `docker-compose config`.
      await mkdir(join(folder, 'bin'))
      await rename(join(folder, 'cmd'), join(folder, 'bin', 'docker-compose'))
    },
  }
}

/** @returns the folder with `docker-compose` in it */
export const composePrograms = async (): Promise<string> => join(await buildOnce(await composeRecipe()), 'bin')
