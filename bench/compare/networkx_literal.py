"""Placement as it was published: one minimum-cost maximum flow for all files, by networkx.

usage: networkx_literal.py INSTANCE

source -> file (capacity: stripe count) -> target (capacity 1, cost: load of its server) -> sink (capacity: objects that fit,
cost: utilisation). Costs are whole millionths, as networkx asks for. Prints the seconds that max_flow_min_cost() took, without
the building of the network, and the largest utilisation that came out.
"""

import sys
import time

import networkx

SCALE = 1_000_000


def read(path):
    targets, files = [], []
    with open(path, encoding='ascii') as lines:
        for line in lines:
            kind, *fields = line.split()
            if kind == 'target':
                targets.append((int(fields[0]), int(fields[1]), int(fields[2]), float(fields[3])))
            elif kind == 'file':
                files.append((int(fields[0]), int(fields[1])))
            else:
                sys.exit(f'unknown line: {line}')
    return targets, files


def main():
    targets, files = read(sys.argv[1])
    object_bytes = max(size for size, _ in files)
    network = networkx.DiGraph()
    for j, (capacity, used, available, _) in enumerate(targets):
        network.add_edge(('target', j), 'sink', capacity=available // object_bytes, weight=used * SCALE // capacity)
    for i, (_, count) in enumerate(files):
        network.add_edge('source', ('file', i), capacity=count, weight=0)
        for j, (_, _, _, load) in enumerate(targets):
            network.add_edge(('file', i), ('target', j), capacity=1, weight=round(load * SCALE))
    start = time.perf_counter()
    flow = networkx.max_flow_min_cost(network, 'source', 'sink')
    seconds = time.perf_counter() - start
    after = [used for _, used, _, _ in targets]
    for i, (size, count) in enumerate(files):
        chosen = [node[1] for node, taken in flow[('file', i)].items() if taken]
        if len(chosen) != count:
            sys.exit(f'file {i} got {len(chosen)} objects of {count}')
        for j in chosen:
            after[j] += size
    print(seconds, max(used / target[0] for used, target in zip(after, targets)))


main()
