import { chmod, copyFile, mkdir, readFile, rename } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { buildOnce, runGo, type BuildRecipe } from './build-once.ts'

const module = join(import.meta.dirname, 'kubernetes')
const crdList = join(module, 'crds.txt')

/**
 * The recipe for etcd, the API server, controllers, scheduler, kubectl, helm and kwok from the Go module proxy. The CRDs of
 * ServiceMonitor, PrometheusRule, ScaledObject and TriggerAuthentication come from the modules of their operators.
 */
export async function createKubernetesRecipe(): Promise<BuildRecipe> {
  const goMod = join(module, 'go.mod')
  const text = await readFile(goMod, 'utf8')
  const readRequiredVersion = (name: string): string => {
    const version = new RegExp(`^\\s*${name} (v\\S+)`, 'm').exec(text)?.[1]
    if (version === undefined) throw new Error(`${goMod} does not require ${name}`)
    return version
  }
  const version = readRequiredVersion('k8s.io/kubernetes')
  return {
    name: 'kubernetes',
    version,
    files: [goMod, join(module, 'go.sum'), crdList],
    revision: 1,
    async build(folder) {
      await installPrograms(folder, version, readRequiredVersion('helm.sh/helm/v4'))
      await copyCrds(join(folder, 'crds'))
    },
  }
}

/** @returns the folder of the programs and of `crds` */
export const buildKubernetesPrograms = async (): Promise<string> => buildOnce(await createKubernetesRecipe())

async function installPrograms(folder: string, version: string, helm: string): Promise<void> {
  const minor = version.split('.')[1] ?? ''
  // Without these flags, the server reports v0.0.0-master, which the kubeVersion of a chart rejects.
  const versionFlags = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].flatMap((place) => [
    `-X ${place}.gitVersion=${version}`,
    `-X ${place}.gitMajor=1`,
    `-X ${place}.gitMinor=${minor}`,
  ])
  const linkerFlags = ['-s', '-w', ...versionFlags, `-X helm.sh/helm/v4/internal/version.version=${helm}`].join(' ')
  const flags = ['-trimpath', '-buildvcs=false', '-gcflags=all=-dwarf=false', '-ldflags', linkerFlags]
  await runGo(module, ['install', ...flags, 'tool'], { GOBIN: folder, GOFLAGS: '-mod=readonly' })
  await rename(join(folder, 'server'), join(folder, 'etcd'))
}

async function copyCrds(folder: string): Promise<void> {
  await mkdir(folder)
  for (const line of (await readFile(crdList, 'utf8')).trim().split('\n')) {
    const [name = '', sum, file = ''] = line.split(' ')
    const { Sum, Dir } = JSON.parse(await runGo('/', ['mod', 'download', '-json', name])) as { Sum: string; Dir: string }
    if (Sum !== sum) throw new Error(`the checksum of ${name} is not the one in ${crdList}`)
    const crd = join(folder, basename(file))
    await copyFile(join(Dir, file), crd)
    await chmod(crd, 0o644)
  }
}
