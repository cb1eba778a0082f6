//! Decodes the scene graph: the nodes of the default scene, parents before children.

use std::collections::{BTreeMap, BTreeSet};

use glam::{Mat4, Quat, Vec3};

use crate::accessor::Reader;
use crate::error::{ModelError, Result};
use crate::json;
use crate::limits::check;
use crate::model::{Node, Transform, Trs};
use crate::source::Source;

/// The nodes of the model. `model_index` maps each node index of the document to an index in `nodes`, or to `None` if
/// the node is not part of the model.
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
    pub(crate) model_index: Vec<Option<usize>>,
    /// Meshes of hidden nodes, which are not drawn, by index in `nodes`.
    pub(crate) hidden_meshes: BTreeMap<usize, usize>,
}

/// A node that is to be visited.
struct Visit {
    /// Index in the document.
    index: usize,
    /// Index of the parent in the model.
    parent: Option<usize>,
    depth: u64,
    /// Whether an ancestor is hidden by `KHR_node_visibility`.
    is_hidden: bool,
}

/// Removes everything that a node draws. Its transform stays, because the node can be a joint of a visible mesh.
fn transform_only(node: Node) -> Node {
    Node { name: node.name, parent: node.parent, local: node.local, ..Node::default() }
}

/// Decodes the default scene. If the document has no scenes, decodes the trees of all root nodes.
pub(crate) fn graph(source: &Source<'_>) -> Result<Graph> {
    let root = &source.root;
    check("nodes", root.nodes.len() as u64, source.limits.nodes)?;
    for (i, node) in root.nodes.iter().enumerate() {
        if let Some(child) = node.children.iter().find(|c| **c >= root.nodes.len()) {
            return Err(ModelError::invalid(format!("nodes[{i}]"), format!("child {child} does not exist")));
        }
    }
    check_tree(root)?;
    let mut graph =
        Graph { nodes: Vec::new(), model_index: vec![None; root.nodes.len()], hidden_meshes: BTreeMap::new() };
    // The nodes are visited depth first in document order, as other viewers do. Repeated names therefore get the same
    // suffixes as in these viewers.
    let to_visit = |index: usize| Visit { index, parent: None, depth: 1, is_hidden: false };
    let with_joints = meshes_with_joints(root);
    let mut stack: Vec<Visit> = roots(root)?.into_iter().rev().map(to_visit).collect();
    while let Some(Visit { index, parent, depth, is_hidden }) = stack.pop() {
        let location = format!("nodes[{index}]");
        if graph.model_index[index].is_some() {
            return Err(ModelError::invalid(location, "it is its own ancestor or has two parents"));
        }
        check("levels of nodes", depth, source.limits.depth)?;
        let node = &root.nodes[index];
        graph.model_index[index] = Some(graph.nodes.len());
        let model_index = graph.nodes.len();
        let is_hidden = is_hidden || node.extensions.visibility.as_ref().is_some_and(|v| v.visible == Some(false));
        let skinned_mesh = node.skin.and(node.mesh);
        let is_skinned = skinned_mesh.and_then(|mesh| with_joints.get(mesh).copied()).unwrap_or_default();
        let decoded = decode(source, &location, node, (parent, is_skinned))?;
        if is_hidden {
            graph.hidden_meshes.extend(decoded.mesh.map(|mesh| (model_index, mesh)));
            graph.nodes.push(transform_only(decoded));
        } else {
            graph.nodes.push(decoded);
        }
        let to_visit = |child: &usize| Visit { index: *child, parent: Some(model_index), depth: depth + 1, is_hidden };
        stack.extend(node.children.iter().rev().map(to_visit));
    }
    add_joints_outside_scene(source, &mut graph)?;
    Ok(graph)
}

/// Adds the joints of drawn skins that are not part of the scene, with the ancestors of these joints. The meshes and
/// lights of the added nodes are omitted.
fn add_joints_outside_scene(source: &Source<'_>, graph: &mut Graph) -> Result<()> {
    let root = &source.root;
    let drawn: BTreeSet<usize> = graph.nodes.iter().filter(|n| n.mesh.is_some()).filter_map(|n| n.skin).collect();
    let joints: Vec<usize> = drawn.iter().flat_map(|skin| &root.skins[*skin].joints).copied().collect();
    if joints.iter().all(|joint| graph.model_index.get(*joint).is_none_or(Option::is_some)) {
        return Ok(());
    }
    let mut parents = vec![None; root.nodes.len()];
    for (i, node) in root.nodes.iter().enumerate() {
        for child in &node.children {
            parents[*child] = Some(i);
        }
    }
    for joint in joints.into_iter().filter(|joint| *joint < root.nodes.len()) {
        let mut chain = Vec::new();
        let mut next = Some(joint);
        while let Some(node) = next.filter(|node| graph.model_index[*node].is_none()) {
            chain.push(node);
            check("levels of nodes", chain.len() as u64, source.limits.depth)?;
            next = parents[node];
        }
        let mut parent = next.and_then(|node| graph.model_index[node]);
        for node in chain.into_iter().rev() {
            let local = local_transform(&format!("nodes[{node}]"), &root.nodes[node])?;
            let name = root.nodes[node].name.clone().unwrap_or_default();
            graph.model_index[node] = Some(graph.nodes.len());
            graph.nodes.push(Node { name, parent, local, ..Node::default() });
            parent = graph.model_index[node];
        }
    }
    Ok(())
}

/// Checks that every node of the document has at most one parent and is not its own ancestor.
fn check_tree(root: &json::Root) -> Result<()> {
    let mut parent: Vec<Option<usize>> = vec![None; root.nodes.len()];
    for (i, node) in root.nodes.iter().enumerate() {
        for child in &node.children {
            if parent[*child].replace(i).is_some() {
                return Err(ModelError::invalid(format!("nodes[{child}]"), "it has two parents"));
            }
        }
    }
    // Visits all nodes that can be reached from root nodes. All other nodes belong to cycles.
    let mut stack: Vec<usize> = (0..root.nodes.len()).filter(|i| parent[*i].is_none()).collect();
    let mut reached = 0;
    while let Some(node) = stack.pop() {
        reached += 1;
        stack.extend(&root.nodes[node].children);
    }
    if reached == root.nodes.len() { Ok(()) } else { Err(ModelError::invalid("nodes", "a node is its own ancestor")) }
}

fn roots(root: &json::Root) -> Result<Vec<usize>> {
    let index = root.scene.unwrap_or(0);
    let Some(scene) = root.scenes.get(index) else {
        if root.scene.is_some() {
            return Err(ModelError::invalid("scene", format!("scene {index} does not exist")));
        }
        let mut is_child = vec![false; root.nodes.len()];
        for child in root.nodes.iter().flat_map(|n| &n.children) {
            is_child[*child] = true;
        }
        return Ok((0..root.nodes.len()).filter(|i| !is_child[*i]).collect());
    };
    if let Some(missing) = scene.nodes.iter().find(|n| **n >= root.nodes.len()) {
        return Err(ModelError::invalid(format!("scenes[{index}]"), format!("node {missing} does not exist")));
    }
    // A node that is listed by the scene and is also below another listed node is drawn only there.
    let mut is_below = vec![false; root.nodes.len()];
    let mut found: Vec<usize> = scene.nodes.iter().flat_map(|n| &root.nodes[*n].children).copied().collect();
    while let Some(node) = found.pop() {
        if !std::mem::replace(&mut is_below[node], true) {
            found.extend(&root.nodes[node].children);
        }
    }
    let roots: Vec<usize> = scene.nodes.iter().copied().filter(|n| !is_below[*n]).collect();
    Ok(if roots.is_empty() { scene.nodes.clone() } else { roots })
}

/// Decodes a node. `is_skinned` tells whether joints place all vertices of its mesh.
fn decode(
    source: &Source<'_>,
    location: &str,
    node: &json::Node,
    (parent, is_skinned): (Option<usize>, bool),
) -> Result<Node> {
    let exists = |what: &str, index: Option<usize>, count: usize| match index {
        Some(i) if i >= count => Err(ModelError::invalid(location, format!("{what} {i} does not exist"))),
        other => Ok(other),
    };
    let lights = source.root.extensions.lights.as_ref().map_or(0, |l| l.lights.len());
    Ok(Node {
        name: node.name.clone().unwrap_or_default(),
        parent,
        local: local_transform(location, node)?,
        mesh: exists("mesh", node.mesh, source.root.meshes.len())?,
        skin: exists("skin", node.skin, source.root.skins.len())?,
        light: node.extensions.light.as_ref().map(|l| l.light).filter(|l| *l < lights),
        weights: node.weights.clone(),
        instances: instances(source, location, node, is_skinned)?,
    })
}

fn local_transform(location: &str, node: &json::Node) -> Result<Transform> {
    let local = match &node.matrix {
        Some(matrix) => Transform::Matrix(Mat4::from_cols_array(matrix)),
        None => Transform::Trs(Trs {
            translation: Vec3::from(node.translation.unwrap_or([0.0; 3])),
            rotation: rotation(node.rotation.unwrap_or([0.0, 0.0, 0.0, 1.0])),
            scale: Vec3::from(node.scale.unwrap_or([1.0; 3])),
        }),
    };
    if local.matrix().is_finite() {
        Ok(local)
    } else {
        Err(ModelError::invalid(location, "its transform is not finite"))
    }
}

/// Normalises a quaternion. A quaternion of length zero becomes the identity.
fn rotation(xyzw: [f32; 4]) -> Quat {
    let q = Quat::from_array(xyzw);
    let length = q.length();
    if length.is_finite() && length > 1e-12 {
        q / length
    } else if length.is_finite() {
        Quat::IDENTITY
    } else {
        q
    }
}

/// Returns for each mesh whether the joints of a skin place all vertices that are drawn. The transforms of a node with such a
/// mesh and a skin, and of its instances, then have no effect (glTF 2.0, section 3.7.3).
fn meshes_with_joints(root: &json::Root) -> Vec<bool> {
    let names = ["JOINTS_0", "WEIGHTS_0"];
    let has_joints = |p: &json::Primitive| names.iter().all(|name| p.attributes.contains_key(*name));
    let is_placed = |p: &json::Primitive| root.drawn_positions(p).is_none() || has_joints(p);
    root.meshes.iter().map(|mesh| mesh.primitives.iter().all(is_placed)).collect()
}

fn instances(source: &Source<'_>, location: &str, node: &json::Node, is_skinned: bool) -> Result<Vec<Transform>> {
    let Some(instancing) = &node.extensions.instancing else { return Ok(Vec::new()) };
    if is_skinned {
        source.warn(&format!("{location}: its mesh has a skin, so its instances are at one place, and one is drawn"));
        return Ok(Vec::new());
    }
    if instancing.attributes.contains_key("_COLOR_0") {
        source.warn(&format!("{location}: the colours of its instances are not supported and are ignored"));
    }
    let open_attribute = |name: &str| instancing.attributes.get(name).map(|i| Reader::open(source, *i)).transpose();
    let (translation, rotations, scale) =
        (open_attribute("TRANSLATION")?, open_attribute("ROTATION")?, open_attribute("SCALE")?);
    let counts: Vec<usize> = [&translation, &rotations, &scale].into_iter().flatten().map(|r| r.count).collect();
    let Some(count) = counts.first().copied() else { return Ok(Vec::new()) };
    if counts.iter().any(|c| *c != count) {
        return Err(ModelError::invalid(location, "its instance attributes have different lengths"));
    }
    check("instances", count as u64, source.limits.nodes)?;
    source.budget.take::<Transform>(count)?;
    let vectors = |reader: Option<Reader<'_>>| reader.map(|r| r.vectors::<3>()).transpose();
    let (translation, scale) = (vectors(translation)?, vectors(scale)?);
    let rotations = rotations.map(|r| r.vectors::<4>()).transpose()?;
    Ok((0..count)
        .map(|i| {
            Transform::Trs(Trs {
                translation: translation.as_ref().map_or(Vec3::ZERO, |t| Vec3::from(t[i])),
                rotation: rotations.as_ref().map_or(Quat::IDENTITY, |r| rotation(r[i])),
                scale: scale.as_ref().map_or(Vec3::ONE, |s| Vec3::from(s[i])),
            })
        })
        .collect())
}
