import { chmod, copyFile, mkdir, readFile, rename } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { buildOnce, go, type Recipe } from './build-once.ts'

const module = join(import.meta.dirname, 'kubernetes')
const crdList = join(module, 'crds.txt')

/**
 * etcd, the API server, controllers and scheduler, kubectl, helm and kwok out of the Go module proxy, and the CRDs of
 * ServiceMonitor, PrometheusRule, ScaledObject and TriggerAuthentication out of their operators' modules.
 */
export async function kubernetesRecipe(): Promise<Recipe> {
  const goMod = join(module, 'go.mod')
  const text = await readFile(goMod, 'utf8')
  const required = (name: string): string => {
    const version = new RegExp(`^\\s*${name} (v\\S+)`, 'm').exec(text)?.[1]
    if (version === undefined) throw new Error(`${goMod} does not require ${name}`)
    return version
  }
  const version = required('k8s.io/kubernetes')
  return {
    name: 'kubernetes',
    version,
    files: [goMod, join(module, 'go.sum'), crdList],
    revision: 1,
    async make(folder) {
      await install(folder, version, required('helm.sh/helm/v4'))
      await takeCrds(join(folder, 'crds'))
    },
  }
}

/** @returns the folder of the programs and of `crds` */
export const kubernetesPrograms = async (): Promise<string> => buildOnce(await kubernetesRecipe())

async function install(folder: string, version: string, helm: string): Promise<void> {
  const minor = version.split('.')[1] ?? ''
  // Without these the server says v0.0.0-master, and a chart's kubeVersion refuses it.
  const marks = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].flatMap((place) => [
    `-X ${place}.gitVersion=${version}`,
    `-X ${place}.gitMajor=1`,
    `-X ${place}.gitMinor=${minor}`,
  ])
  const linked = ['-s', '-w', ...marks, `-X helm.sh/helm/v4/internal/version.version=${helm}`].join(' ')
  const flags = ['-trimpath', '-buildvcs=false', '-gcflags=all=-dwarf=false', '-ldflags', linked]
  await go(module, ['install', ...flags, 'tool'], { GOBIN: folder, GOFLAGS: '-mod=readonly' })
  await rename(join(folder, 'server'), join(folder, 'etcd'))
}

async function takeCrds(folder: string): Promise<void> {
  await mkdir(folder)
  for (const line of (await readFile(crdList, 'utf8')).trim().split('\n')) {
    const [name = '', sum, file = ''] = line.split(' ')
    const { Sum, Dir } = JSON.parse(await go('/', ['mod', 'download', '-json', name])) as { Sum: string; Dir: string }
    if (Sum !== sum) throw new Error(`${name} is not the one in ${crdList}`)
    const crd = join(folder, basename(file))
    await copyFile(join(Dir, file), crd)
    await chmod(crd, 0o644)
  }
}
